/** A real reverse proxy for tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './debian-program.ts';
import { freePort } from './free-port.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/**
 * Starts nginx in front of `upstreamPort`. Its few connections to the upstream are kept alive: an
 * extra answer on one would go to another client.
 */
export function startNginx(
  t: Teardown,
  { upstreamPort }: { readonly upstreamPort: number },
): Promise<StartedNginx> {
  return startNginxWith(t, (port) => oneUpstream(port, upstreamPort));
}

export interface StartedNginx {
  readonly port: number;
  /** Returns its log so far. */
  readonly errors: () => string;
}

/**
 * Starts nginx in the foreground with the content of a `http` block for its port; it ends with the
 * test at the latest.
 */
export async function startNginxWith(t: Teardown, content: (port: number) => string): Promise<StartedNginx> {
  const program = await findNginx();
  // A free port may be taken before nginx has it: by another test's server, or by any outgoing
  // connection.
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const { isListening, readErrors } = await run(t, program, content(port));
    const errors = readErrors();
    if (isListening) return { port, errors: readErrors };
    if (attempt === 10 || !errors.includes('Address already in use')) {
      throw new Error(`nginx does not start: ${errors}`);
    }
  }
}

/** Starts nginx once. It has ended if `isListening` is false, and `readErrors` says why. */
async function run(
  t: Teardown,
  program: string,
  content: string,
): Promise<{ isListening: boolean; readErrors: () => string }> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-nginx-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  // Its workers run as another user.
  await chmod(directory, 0o711);
  await writeFile(join(directory, 'nginx.conf'), configuration(content));
  const child = spawn(program, ['-p', directory, '-e', 'stderr', '-c', 'nginx.conf'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr?.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  t.teardown(() => stop(child, kill));
  // nginx writes the file once its port is bound. A connection would not distinguish its server
  // from another one there.
  const pidFile = join(directory, 'nginx.pid');
  await until(() => hasEnded(child) || existsSync(pidFile), { what: 'nginx listens' });
  if (hasEnded(child)) await closed;
  return { isListening: !hasEnded(child), readErrors: () => errors };
}

function configuration(content: string): string {
  return `
    daemon off;
    worker_processes 1;
    pid nginx.pid;
    events { worker_connections 512; }
    http {
      access_log off;
      client_body_temp_path body;
      proxy_temp_path proxy;
      fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi;
      scgi_temp_path scgi;
      ${content}
    }`;
}

function oneUpstream(port: number, upstreamPort: number): string {
  return `
      # Sockets are passed on; other requests keep the connection to the upstream alive.
      map $http_upgrade $connection_header { default upgrade; '' ''; }
      upstream parley { server 127.0.0.1:${upstreamPort}; keepalive 1; }
      server {
        listen 127.0.0.1:${port};
        client_max_body_size 0;
        location / {
          proxy_pass http://parley;
          proxy_http_version 1.1;
          proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection $connection_header;
          proxy_set_header Host $http_host;
          proxy_request_buffering off;
          proxy_next_upstream off;
        }
      }`;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function stop(child: ChildProcess, kill: () => void): Promise<void> {
  process.off('exit', kill);
  if (hasEnded(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  // The master ends its workers, which it could not after a SIGKILL.
  child.kill('SIGTERM');
  await exited;
}

let found: Promise<string> | undefined;

function findNginx(): Promise<string> {
  found ??= findProgram({
    names: ['nginx'],
    package: 'nginx-light',
    advice: 'these tests need nginx: put it on PATH, or run them as root on Debian or Ubuntu',
  });
  return found;
}
