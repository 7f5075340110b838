import type { Case } from './case.ts'
import { contractBom, contractComments } from './contract-bom.ts'
import { contractHttp, contractReconnection } from './contract-http.ts'
import { contractLinefeeds } from './contract-linefeeds.ts'
import { contractParsing } from './contract-parsing.ts'
import { standardInterpreting } from './standard-interpreting.ts'
import { standardParsing } from './standard-parsing.ts'
import { standardProcessing } from './standard-processing.ts'
import { webPlatformFormat } from './web-platform-format.ts'
import { webPlatformRequest } from './web-platform-request.ts'

export const cases: Case[] = [
  ...standardProcessing,
  ...standardParsing,
  ...standardInterpreting,
  ...contractParsing,
  ...contractBom,
  ...contractComments,
  ...contractLinefeeds,
  ...contractHttp,
  ...contractReconnection,
  ...webPlatformFormat,
  ...webPlatformRequest,
]
