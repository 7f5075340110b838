import type { LifecycleEvent } from 'resilient-sse'
import { FaultServer, type FaultServerOptions } from 'resilient-sse/testing'
import { Follower, type FollowerOptions, IMPATIENT, noticed } from './follower.ts'
import { type Change, Gateway, type Kind } from './gateway.ts'
import type { MeasuredTable } from './measured.ts'
import { Publisher } from './publisher.ts'

/** How the documented configuration is changed for the worse. */
export interface Setting {
  /** As it stands in the table. */
  readonly label: string
  readonly changes: readonly Change[]
}

/** A server behind a gateway, and the events that it is to send. */
export class Scene implements AsyncDisposable {
  private constructor(
    readonly publisher: Publisher,
    readonly upstream: FaultServer,
    readonly gateway: Gateway,
  ) {}

  static async set(
    kind: Kind,
    changes: readonly Change[],
    options: Pick<FaultServerOptions, 'script' | 'otherwise'> = {},
  ): Promise<Scene> {
    const publisher = new Publisher()
    const upstream = await FaultServer.start({ ...options, log: publisher.log })
    return new Scene(publisher, upstream, await Gateway.start(kind, upstream.port, changes))
  }

  follow(options: FollowerOptions = {}): Follower {
    return new Follower(this.gateway, this.publisher, { ...IMPATIENT, ...options })
  }

  /** The cursors that reached the server, in the order of the requests. */
  get cursors(): (string | undefined)[] {
    return this.upstream.requests.map(({ lastEventId }) => lastEventId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.publisher.stop()
    await this.gateway[Symbol.asyncDispose]()
    await this.upstream.close()
  }
}

/** The columns of the tables: what was set, who met it, and what came of it. */
export const SETTINGS_HEAD = ['setting', 'client', 'noticed', 'events come', 'dials', 'lost', 'doubled']

/** The middle of a row, as it is at this moment. */
export function notes(
  { dialled, witness }: Follower,
  come = 'at once',
  events: readonly LifecycleEvent[] = witness.events,
): string[] {
  const trouble = noticed(events).join(', ')
  const dials = trouble === '' ? '1' : `about ${dialled.length}`
  return [trouble || 'nothing', come, dials]
}

export function addRow(
  table: MeasuredTable,
  what: string,
  client: string,
  follower: Follower,
  noted = notes(follower),
): void {
  table.add(what, client, ...noted, String(follower.lost), String(follower.doubled))
}
