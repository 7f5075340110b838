"""serve.py [--low-level] --sessions N --retry-interval MS --pause MS

The polling server of whichever SDK is installed, N times, each on a free port: an event store serves one session."""

import argparse
import asyncio
import socket
from importlib.metadata import version

import uvicorn
from polling import Settings

if version("mcp").startswith("1."):
    import server_v1 as sdk
else:
    import server_v2 as sdk

flags = argparse.ArgumentParser()
flags.add_argument("--low-level", action="store_true")
flags.add_argument("--sessions", type=int, required=True)
flags.add_argument("--retry-interval", type=int, required=True)
flags.add_argument("--pause", type=int, required=True)
args = flags.parse_args()
settings = Settings(retry_interval_ms=args.retry_interval, pause_ms=args.pause)


async def main() -> None:
    servers = []
    for _ in range(args.sessions):
        app = (sdk.low_level if args.low_level else sdk.high_level)(settings)
        listener = socket.create_server(("127.0.0.1", 0))
        servers.append(uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener]))
        print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    await asyncio.gather(*servers)


asyncio.run(main())
