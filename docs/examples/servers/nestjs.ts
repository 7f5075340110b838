// A stream that can be resumed, on NestJS with its Express platform: npm install @nestjs/core @nestjs/common
// @nestjs/platform-express reflect-metadata rxjs, with "experimentalDecorators" in tsconfig.json.
import 'reflect-metadata'
import {
  Controller,
  Get,
  HttpCode,
  Inject,
  Module,
  type OnModuleDestroy,
  Post,
  Req,
  Res,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import type { Request, Response } from 'express'
import { Feed, lastEventIdOf, send } from './feed.mjs'

const { PORT = '8080', FEED = '{"file":"events.journal"}' } = process.env

@Controller('events')
class EventsController implements OnModuleDestroy {
  @Inject(Feed) private readonly feed!: Feed

  // Not @Sse(): it numbers events without an id from 1 on each connection, so that ids of one mean nothing on the next,
  // and an Observable cannot be told to wait, so that each slow client has a queue of its own in memory.
  @Get()
  stream(@Req() request: Request, @Res() response: Response): Promise<void> {
    const { lastEventId } = request.query
    const parameter = typeof lastEventId === 'string' ? lastEventId : undefined
    return send(response, this.feed.subscribe(lastEventIdOf(request.headers['last-event-id'], parameter)))
  }

  // Stands for whatever makes events in your application.
  @Post()
  @HttpCode(202)
  publish(@Req() request: Request): { id: string } {
    return { id: this.feed.publish({ data: request.body }) }
  }

  // Before the server is closed, which would wait for streams that never end.
  onModuleDestroy(): Promise<void> {
    return this.feed.end()
  }
}

@Module({
  controllers: [EventsController],
  providers: [{ provide: Feed, useFactory: () => new Feed(JSON.parse(FEED)) }],
})
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, {
  bodyParser: false,
  // What is left after onModuleDestroy is idle, or does not read.
  forceCloseConnections: true,
  logger: ['error', 'warn'],
})
app.useBodyParser('text', { type: () => true, limit: '1mb' })
app.enableShutdownHooks(['SIGTERM'])
await app.listen(Number(PORT), '127.0.0.1')
