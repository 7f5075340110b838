import { clientCalled } from './clients.ts'
import { startService } from './service.ts'

// The process ends once the service was told to stop, unless a client left something open.
const { url } = await startService(clientCalled(String(process.argv[2])))
console.log(url)
