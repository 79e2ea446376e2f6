import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { jwtVerify } from 'jose';
import { freshDirectory } from '../start/parley.ts';
import { makeSignedCertificate } from './certificate.ts';
import type { Teardown } from './teardown.ts';

/** The answer of a service: a status with its body, or undefined to accept. */
interface Refusing {
  readonly status: number;
  readonly body?: object;
  readonly retryAfter?: string;
}

interface Alert {
  readonly title: string;
  readonly body?: string;
}

/** The message of FCM, or the payload of Apple, whose data are at its top. */
interface PhoneBody {
  readonly token?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly notification?: Alert;
  readonly notification_ids?: string;
  readonly aps?: { readonly alert?: Alert; readonly badge?: number };
}

/** A push as a service gets it. */
interface PhonePushed {
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: PhoneBody;
}

/** What both services have: who may push, what arrived, and what they refuse. */
class PhoneService {
  readonly received: PhonePushed[] = [];
  /** Problems of requests that no real service would take either. */
  readonly problems: string[] = [];
  /** By token; undefined accepts. */
  readonly refusals = new Map<string, Refusing>();
  tries = 0;
  origin = '';

  of(token: string): readonly PhonePushed[] {
    return this.received.filter((one) => one.token === token);
  }

  protected take(push: PhonePushed): Refusing | undefined {
    this.tries += 1;
    const refusal = this.refusals.get(push.token);
    if (refusal === undefined) this.received.push(push);
    return refusal;
  }
}

/** An Apple Push Notification service: HTTP/2, and tokens of providers that it verifies (ES256). */
export class Apns extends PhoneService {
  readonly teamId = 'TEAM456789';
  readonly keyId: string;
  readonly topic = 'com.example.chat';
  readonly privateKey: string;
  #publicKey: KeyObject;
  /** Connections so far. */
  connections = 0;

  constructor() {
    super();
    const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    this.privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    this.#publicKey = pair.publicKey;
    this.keyId = `KEY${randomBytes(4).toString('hex').toUpperCase().slice(0, 7)}`;
  }

  /** Takes another key: tokens of the one before are refused. */
  renew(): string {
    const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    this.#publicKey = pair.publicKey;
    return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  async answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const body = Buffer.concat(await stream.toArray());
    const reply = (status: number, reason?: string, retryAfter?: string) => {
      stream.respond({ ':status': status, ...(retryAfter !== undefined && { 'retry-after': retryAfter }) });
      stream.end(reason === undefined ? '' : JSON.stringify({ reason }));
    };
    const [, token] = /^\/3\/device\/([0-9a-f]+)$/.exec(String(headers[':path'])) ?? [];
    if (headers[':method'] !== 'POST' || token === undefined) return reply(404, 'BadPath');
    try {
      const [, jwt = ''] = /^bearer (.+)$/.exec(String(headers.authorization)) ?? [];
      const { protectedHeader, payload } = await jwtVerify(jwt, this.#publicKey, {
        issuer: this.teamId,
        algorithms: ['ES256'],
        maxTokenAge: '1h',
      });
      if (protectedHeader.kid !== this.keyId || payload.iat === undefined) throw new Error('kid');
    } catch {
      return reply(403, 'InvalidProviderToken');
    }
    const push = { token, headers: textsOf(headers), body: JSON.parse(body.toString()) };
    if (headers['apns-topic'] !== this.topic) this.problems.push('another topic');
    if (body.length > 4_096) this.problems.push(`${body.length} bytes`);
    const type = push.body.aps?.alert === undefined ? 'background' : 'alert';
    if (headers['apns-push-type'] !== type) this.problems.push(`not ${type}`);
    if (type === 'background' && headers['apns-priority'] !== '5') this.problems.push('priority');
    const refusal = this.take(push);
    if (refusal === undefined) return reply(200);
    reply(refusal.status, (refusal.body as { reason?: string } | undefined)?.reason, refusal.retryAfter);
  }
}

/** Firebase Cloud Messaging: access tokens for signed assertions (RS256), and HTTP v1. */
export class Fcm extends PhoneService {
  readonly projectId = 'example-chat';
  readonly email = 'push@example-chat.iam.gserviceaccount.com';
  readonly privateKey: string;
  readonly #publicKey: KeyObject;
  readonly #tokens = new Set<string>();
  /** Assertions traded so far. */
  trades = 0;
  /** Whether it still knows the key of the service account. */
  isKeyKnown = true;

  constructor() {
    super();
    const pair = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    this.privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    this.#publicKey = pair.publicKey;
  }

  /** The JSON of a key, as Google gives it. */
  get serviceAccount() {
    return {
      type: 'service_account',
      project_id: this.projectId,
      private_key_id: 'key-1',
      private_key: this.privateKey,
      client_email: this.email,
      token_uri: 'https://oauth2.googleapis.com/token',
    };
  }

  /** Ends every access token so far. */
  expireTokens(): void {
    this.#tokens.clear();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    const reply = (status: number, value: object, retryAfter?: string) => {
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      });
      response.end(JSON.stringify(value));
    };
    if (request.url === '/token') return this.#trade(new URLSearchParams(body), reply);
    if (request.url !== `/v1/projects/${this.projectId}/messages:send`) return reply(404, {});
    const [, access = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (!this.#tokens.has(access)) return reply(401, { error: { status: 'UNAUTHENTICATED' } });
    const { message } = JSON.parse(body);
    if (Object.values(message.data).some((value) => typeof value !== 'string')) this.problems.push('data');
    const refusal = this.take({ token: message.token, headers: textsOf(request.headers), body: message });
    if (refusal === undefined) return reply(200, { name: 'projects/example-chat/messages/1' });
    reply(refusal.status, refusal.body ?? {}, refusal.retryAfter);
  }

  async #trade(form: URLSearchParams, reply: (status: number, value: object) => void): Promise<void> {
    try {
      if (!this.isKeyKnown) throw new Error('the key was deleted');
      if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') throw new Error('grant');
      const { payload } = await jwtVerify(form.get('assertion') ?? '', this.#publicKey, {
        issuer: this.email,
        audience: 'https://oauth2.googleapis.com/token',
        algorithms: ['RS256'],
      });
      if (payload.scope !== 'https://www.googleapis.com/auth/firebase.messaging') throw new Error('scope');
    } catch (error) {
      return reply(400, { error: 'invalid_grant', error_description: String(error) });
    }
    this.trades += 1;
    const token = `ya29.${randomBytes(100).toString('base64url')}`;
    this.#tokens.add(token);
    reply(200, { access_token: token, expires_in: 3_599, token_type: 'Bearer' });
  }
}

/** Starts one, which this process trusts by its certificate. */
export async function startApns(t: Teardown): Promise<Apns> {
  const apns = new Apns();
  const files = await makeSignedCertificate(freshDirectory(t), '127.0.0.1');
  setDefaultCACertificates([...getCACertificates(), readFileSync(files.ca, 'utf8')]);
  const server = createSecureServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) });
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    apns.connections += 1;
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    apns.answer(stream, headers).catch((error) => apns.problems.push(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  apns.origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return apns;
}

export async function startFcm(t: Teardown): Promise<Fcm> {
  const fcm = new Fcm();
  const server = createServer((request, response) => {
    fcm.answer(request, response).catch((error) => fcm.problems.push(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  fcm.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return fcm;
}

function textsOf(
  headers: IncomingHttpHeaders | IncomingMessage['headers'],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
