import { join } from 'node:path';

process.loadEnvFile(join(import.meta.dirname, 'uws.env'));

const library = await import('uWebSockets.js');

/** Import uWebSockets.js from here, with settings that it reads from the environment only. */
export const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = library;

interface Addon {
  _cfg(setting: 'silent'): void;
}

/** Returns the native addon: the module itself upstream, a file beside it in the repack. */
async function findAddon(): Promise<Addon> {
  if ('default' in library) return library.default as Addon;
  const beside = new URL('uws.mjs', import.meta.resolve('uWebSockets.js'));
  const { default: addon } = (await import(beside.href)) as { default: Addon };
  return addon;
}

// Otherwise each answer has a header with the library's name and version.
(await findAddon())._cfg('silent');
