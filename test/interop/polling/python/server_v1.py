"""The polling server on version 1 of the Python SDK, by its high-level and its low-level API."""

import mcp.types as types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from polling import SessionEventStore, Settings, process_batch
from starlette.applications import Starlette
from starlette.routing import Mount


def high_level(settings: Settings):
    server = FastMCP("polling-demo", event_store=SessionEventStore(), retry_interval=settings.retry_interval_ms)

    @server.tool(name="process_batch")
    async def batch(ctx: Context, items: int = 10, checkpoint_every: int = 3) -> str:
        return await process_batch(
            items, checkpoint_every, log=ctx.info, close_stream=ctx.close_sse_stream, pause_ms=settings.pause_ms
        )

    @server.tool()
    async def announce(ctx: Context, text: str) -> str:
        await ctx.session.send_log_message(level="info", data=text)
        return "announced"

    @server.tool()
    async def announce_while_closed(ctx: Context, text: str) -> str:
        await ctx.close_standalone_sse_stream()
        await ctx.session.send_log_message(level="info", data=text)
        return "closed"

    return server.streamable_http_app()


def low_level(settings: Settings):
    server = Server("polling-demo")

    @server.list_tools()
    async def list_tools() -> list[types.Tool]:
        names = ["process_batch", "announce", "announce_while_closed"]
        return [types.Tool(name=name, inputSchema={"type": "object"}) for name in names]

    @server.call_tool()
    async def call_tool(name: str, arguments: dict) -> list[types.TextContent]:
        ctx = server.request_context
        if name == "process_batch":

            async def log(text: str) -> None:
                await ctx.session.send_log_message(level="info", data=text, related_request_id=ctx.request_id)

            answer = await process_batch(
                arguments["items"],
                arguments["checkpoint_every"],
                log=log,
                close_stream=ctx.close_sse_stream,
                pause_ms=settings.pause_ms,
            )
        else:
            if name == "announce_while_closed":
                await ctx.close_standalone_sse_stream()
            await ctx.session.send_log_message(level="info", data=arguments["text"])
            answer = name
        return [types.TextContent(type="text", text=answer)]

    manager = StreamableHTTPSessionManager(
        app=server, event_store=SessionEventStore(), retry_interval=settings.retry_interval_ms
    )
    return Starlette(routes=[Mount("/", app=manager.handle_request)], lifespan=lambda app: manager.run())
