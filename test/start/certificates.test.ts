/**
 * SIGHUP: new connections get the certificate that is then in the files; open connections go on.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import t from 'tap';
import WebSocket from 'ws';
import type { DemoFile } from '../../src/app/demo.ts';
import { makeCertificate } from '../support/certificate.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { freshDirectory, type Running, startParley } from './parley.ts';

t.test('certificates are read again, twice, and bad files change nothing', async (t) => {
  const { node, demo, smtpPort, install } = await start(t);
  const port = Number(new URL(demo.base_url).port);
  t.equal(await subjectAt(t, port), 'first');
  t.equal(await mailSubjectAt(t, smtpPort), 'first');
  const kept = await open(t, port);
  const sockets = [await subscribe(t, demo)];

  for (const [index, name] of ['second', 'third'].entries()) {
    await install(name);
    node.child.kill('SIGHUP');
    await node.logs(new RegExp(`"subject":"CN=${name}",.*"msg":"serving a certificate that was read again"`));
    t.equal(await subjectAt(t, port), name);
    t.equal(await mailSubjectAt(t, smtpPort), name, 'STARTTLS');
    sockets.push(await subscribe(t, demo));
    t.match(await ask(kept), /^HTTP\/1\.1 200 /, 'a connection from before is served');
    t.equal(await send(t, demo), 201);
    const all = () => sockets.every(({ sequences }) => sequences.at(-1) === index + 1);
    await until(all, { what: 'the sockets of every certificate to have the message' });
  }

  await install('fourth', { withKey: false });
  node.child.kill('SIGHUP');
  await node.logs(/does not belong to the certificate.*"msg":"the certificate cannot be read again/);
  t.equal(await subjectAt(t, port), 'third');
  t.equal(await mailSubjectAt(t, smtpPort), 'third');
  t.match(await ask(kept), /^HTTP\/1\.1 200 /);

  node.child.kill('SIGTERM');
  const { code } = await node.ended;
  t.equal(code, 0);
  await until(() => sockets.every(({ closeCode }) => closeCode() !== undefined), { what: 'closed sockets' });
  t.ok(
    sockets.every(({ closeCode }) => closeCode() === 4000),
    'all of them are sent away',
  );
});

t.test('without TLS files, SIGHUP is the end of the terminal', async (t) => {
  const { url: DATABASE_URL } = await createTestDatabase(t);
  const env = { DATABASE_URL, PORT: '0', PARLEY_DEMO: 'on', PARLEY_DATA_DIR: freshDirectory(t) };
  const node = startParley(t, env);
  await node.says(/Parley is ready/);
  node.child.kill('SIGHUP');
  t.equal((await node.ended).code, 0);
});

interface Secured {
  readonly node: Running;
  readonly demo: DemoFile;
  readonly smtpPort: number;
  /** Replaces the files of the node, or the certificate alone. */
  install(name: string, options?: { readonly withKey: boolean }): Promise<void>;
}

async function start(t: Teardown): Promise<Secured> {
  const { url: DATABASE_URL } = await createTestDatabase(t);
  const dataDir = freshDirectory(t);
  const files = freshDirectory(t);
  const [certFile, keyFile] = [join(files, 'tls.pem'), join(files, 'tls.key')];
  const install = async (name: string, { withKey } = { withKey: true }): Promise<void> => {
    const [cert, key] = await makeCertificate(files, name);
    copyFileSync(cert, certFile);
    if (withKey) writeFileSync(keyFile, readFileSync(key));
  };
  await install('first');
  const node = startParley(t, {
    DATABASE_URL,
    PORT: '0',
    PARLEY_DEMO: 'on',
    PARLEY_DATA_DIR: dataDir,
    PARLEY_TLS_CERT: certFile,
    PARLEY_TLS_KEY: keyFile,
    PARLEY_SMTP_LISTEN: '127.0.0.1:0',
    PARLEY_DRAIN_MS: '100',
  });
  await node.says(/Parley is ready/);
  const [, smtpPort] = await node.logs(/"port":(\d+),.*"msg":"listening for mail"/);
  const demo: DemoFile = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  return { node, demo, smtpPort: Number(smtpPort), install };
}

/** Nothing here is about whether the certificate is to be trusted. */
const UNTRUSTED = { host: '127.0.0.1', rejectUnauthorized: false } as const;

async function open(t: Teardown, port: number, socket?: Socket): Promise<TLSSocket> {
  const secured = connect({ ...UNTRUSTED, port, ...(socket !== undefined && { socket }) });
  t.teardown(() => void secured.destroy());
  await once(secured, 'secureConnect');
  return secured;
}

/** Returns the CN of the certificate that a new connection gets. */
async function subjectAt(t: Teardown, port: number): Promise<unknown> {
  const secured = await open(t, port);
  return secured.getPeerCertificate().subject.CN;
}

async function mailSubjectAt(t: Teardown, port: number): Promise<unknown> {
  const plain = connectPlain(port, '127.0.0.1');
  t.teardown(() => void plain.destroy());
  const answer = async (line?: string) => {
    if (line !== undefined) plain.write(`${line}\r\n`);
    const [bytes] = await once(plain, 'data');
    return String(bytes);
  };
  await answer();
  await answer('EHLO localhost');
  await answer('STARTTLS');
  plain.removeAllListeners('data');
  return (await open(t, port, plain)).getPeerCertificate().subject.CN;
}

/** Sends a request on an open connection, and returns the answer. */
async function ask(connection: TLSSocket): Promise<string> {
  connection.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [bytes] = await once(connection, 'data');
  return String(bytes);
}

async function send(t: Teardown, demo: DemoFile): Promise<number> {
  const { account_id, api_key, base_url, service_version, conversations } = demo;
  const connection = await open(t, Number(new URL(base_url).port));
  const body = JSON.stringify({ body: 'ahoy', client_message_id: randomUUID() });
  connection.write(
    [
      `POST /v1/messaging/conversations/${conversations.group}/messages HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${api_key}`,
      `Service-Account: ${account_id}`,
      `Service-Version: ${service_version}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );
  const [bytes] = await once(connection, 'data');
  return Number(String(bytes).split(' ')[1]);
}

interface Subscriber {
  readonly sequences: number[];
  readonly closeCode: () => number | undefined;
}

/** Opens a socket on the group. */
async function subscribe(t: Teardown, demo: DemoFile): Promise<Subscriber> {
  const socket = new WebSocket(`${demo.base_url.replace('http', 'ws')}/v1/realtime`, {
    rejectUnauthorized: false,
    headers: {
      Authorization: `Bearer ${demo.users.ada.access_token}`,
      'Service-Account': demo.account_id,
      'Service-Version': demo.service_version,
    },
  });
  t.teardown(() => socket.terminate());
  const sequences: number[] = [];
  let isCaughtUp = false;
  let closeCode: number | undefined;
  socket.on('close', (code) => {
    closeCode = code;
  });
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.type === 'ready') {
      socket.send(JSON.stringify({ id: 's', type: 'subscribe', conversation_id: demo.conversations.group }));
    }
    if (frame.type === 'ping') socket.send(JSON.stringify({ type: 'pong', t: frame.t }));
    if (frame.type === 'caught_up' || (frame.type === 'reply' && frame.ok)) isCaughtUp = true;
    if (frame.event === 'message.created') sequences.push(frame.sequence);
  });
  await until(() => isCaughtUp, { what: 'a subscription' });
  return { sequences, closeCode: () => closeCode };
}
