import { expect, test } from 'vitest'
import { checkDispatcher } from '../../src/layers/tcp.browser.ts'

test('in a browser a dispatcher is refused: there it could not take effect', () => {
  expect(() => checkDispatcher({})).toThrow(
    expect.objectContaining({
      code: 'ERR_SSE_OPTION',
      message: 'dispatcher: cannot take effect here: the fetch of the platform makes its own connections',
    }),
  )
})
