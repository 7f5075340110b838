"""client.py URL CALL: makes a call by the SDK's own client, and prints what it heard and was answered, as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, name: str, arguments: dict) -> None:
    heard: list[object] = []

    async def log(params) -> None:
        heard.append(params.data)

    # Version 1 has a third stream of its own there.
    async with streamable_http_client(url) as (read, write, *_), ClientSession(read, write, logging_callback=log) as session:
        await session.initialize()
        result = await session.call_tool(name, arguments)
    print(json.dumps({"heard": heard, "answer": result.content[0].text}))


asyncio.run(main(sys.argv[1], **json.loads(sys.argv[2])))
