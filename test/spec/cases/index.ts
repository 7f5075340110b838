import type { Case } from './case.ts'
import { contractBom, contractComments } from './contract-bom.ts'
import { contractHttp, contractReconnection } from './contract-http.ts'
import { contractLinefeeds } from './contract-linefeeds.ts'
import { contractParsing } from './contract-parsing.ts'

export const cases: Case[] = [
  ...contractParsing,
  ...contractBom,
  ...contractComments,
  ...contractLinefeeds,
  ...contractHttp,
  ...contractReconnection,
]
