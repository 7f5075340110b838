/** Builds and packs the package into a folder: what npm says of the tarball, and where it is. */
export function packTarball(folder: string): { tarball: string; filename: string; size: number }
/** Makes a folder an application that has the tarball installed. */
export function installTarball(tarball: string, app: string): { path: string; packages: string[] }
