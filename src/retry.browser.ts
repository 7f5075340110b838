/** As on Node; without p-retry, whose delays and limits are off there anyway, a page loads 4 KB less. */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  afterFailure: (error: unknown) => Promise<void>,
): Promise<Result> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      await afterFailure(error)
    }
  }
}
