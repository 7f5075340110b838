/** The Chromium that the tests drive. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
