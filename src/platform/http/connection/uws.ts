import { join } from 'node:path';

process.loadEnvFile(join(import.meta.dirname, 'uws.env'));

const library = await import('uWebSockets.js');

/**
 * uWebSockets.js, loaded with the settings that it reads from the environment only. Import its
 * functions from here.
 */
export const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = library;

interface Addon {
  _cfg(setting: 'silent'): void;
}

/**
 * Finds the native addon. The repack's module has it in a file beside its own; upstream's module is
 * the addon.
 */
async function findAddon(): Promise<Addon> {
  if ('default' in library) return library.default as Addon;
  const beside = new URL('uws.mjs', import.meta.resolve('uWebSockets.js'));
  const { default: addon } = (await import(beside.href)) as { default: Addon };
  return addon;
}

// Without this each answer carries a header with the library's name and version.
(await findAddon())._cfg('silent');
