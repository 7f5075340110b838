import { resilientSse } from './resilient-sse.ts'
import { startService } from './service.ts'

// The process ends once the service was told to stop, unless a client left something open.
const { url } = await startService(resilientSse)
console.log(url)
