"""The polling server on version 2 of the Python SDK, by its high-level and its low-level API."""

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from polling import SessionEventStore, Settings, process_batch


def high_level(settings: Settings):
    server = MCPServer("polling-demo")

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

    return server.streamable_http_app(event_store=SessionEventStore(), retry_interval=settings.retry_interval_ms)


def low_level(settings: Settings):
    tools = ["process_batch", "announce", "announce_while_closed"]

    async def list_tools(ctx, params):
        schema = {"type": "object"}
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in tools])

    async def call_tool(ctx, params):
        arguments = params.arguments or {}
        if params.name == "process_batch":

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
            if params.name == "announce_while_closed":
                await ctx.close_standalone_sse_stream()
            await ctx.session.send_log_message(level="info", data=arguments["text"])
            answer = params.name
        return types.CallToolResult(content=[types.TextContent(type="text", text=answer)])

    server = Server("polling-demo", on_list_tools=list_tools, on_call_tool=call_tool)
    return server.streamable_http_app(event_store=SessionEventStore(), retry_interval=settings.retry_interval_ms)
