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

/**
 * All cases. Left out of the standard: 9.2.8 and 9.2.9, which permit browsers what neither server nor caller sees, and of
 * 9.2.7 what is advice to authors. Of the Web Platform Tests: constructor*, prototype, document.domain, bfcache and realm,
 * which are about the interface object and documents; request-credentials and eventsource-cross-origin, which need cookies
 * and two origins; and of format-field-retry the upper bound of a tenth, because the standard lets a client wait longer.
 */
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
