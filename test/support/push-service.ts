import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  verify,
} from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PushPayload } from '../../src/features/push/web/payload.ts';
import type { Teardown } from './teardown.ts';

/** A push as the browser gets it, with what the push service sees. */
export interface ReceivedPush {
  readonly payload: PushPayload;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of the body as sent. */
  readonly size: number;
  /** The claims of the token of RFC 8292. */
  readonly token: { readonly aud: string; readonly exp: number; readonly sub: string };
  /** The public key that signed the token. */
  readonly key: string;
}

/** The answer of a push service: a status, or `silence`. */
export type Answering = number | 'silence';

/** A subscribed browser. */
export class Browser {
  readonly endpoint: string;
  readonly received: ReceivedPush[] = [];
  /** Tries, whether or not they were accepted. */
  tries = 0;
  answers: Answering = 201;
  retryAfter: string | undefined;
  #curve: ECDH = createECDH('prime256v1');
  #auth: Buffer = randomBytes(16);

  constructor(endpoint: string) {
    this.endpoint = endpoint;
    this.#curve.generateKeys();
  }

  /** Returns the form of `PushSubscription.toJSON()`. */
  toJSON() {
    return {
      endpoint: this.endpoint,
      expirationTime: null,
      keys: { p256dh: this.#curve.getPublicKey('base64url'), auth: this.#auth.toString('base64url') },
    };
  }

  /** Makes new keys for the same endpoint. */
  renew(): void {
    this.#curve = createECDH('prime256v1');
    this.#curve.generateKeys();
    this.#auth = randomBytes(16);
  }

  decrypt(body: Buffer): Buffer {
    return decryptPush(body, { curve: this.#curve, auth: this.#auth });
  }
}

/** A push service (RFC 8030) that reads its pushes in place of the browsers. */
export class PushService {
  readonly origin: string;
  /** Problems of requests. */
  readonly problems: string[] = [];
  readonly #browsers = new Map<string, Browser>();

  constructor(origin: string) {
    this.origin = origin;
  }

  browser(): Browser {
    const path = `/push/${this.#browsers.size + 1}`;
    const browser = new Browser(`${this.origin}${path}`);
    this.#browsers.set(path, browser);
    return browser;
  }

  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const browser = this.#browsers.get(request.url ?? '');
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    if (browser === undefined) return void response.writeHead(404).end();
    browser.tries += 1;
    const { answers, retryAfter } = browser;
    if (answers === 'silence') return;
    if (answers >= 200 && answers < 300) {
      try {
        browser.received.push(read(browser, request, body));
      } catch (error) {
        this.problems.push(String(error));
      }
    }
    const headers = answers >= 300 && answers < 400 ? { Location: `${this.origin}/elsewhere` } : {};
    response.writeHead(answers, {
      ...headers,
      ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
    });
    response.end('some text');
  };
}

export async function startPushService(t: Teardown, host = '127.0.0.1'): Promise<PushService> {
  let service: PushService | undefined;
  const server = createServer((request, response) => void service?.answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  service = new PushService(`http://${host}:${(server.address() as AddressInfo).port}`);
  return service;
}

/** Decrypts the body of a push (RFC 8291 over RFC 8188), for a browser with these keys. */
export function decryptPush(
  body: Buffer,
  { curve, auth }: { readonly curve: ECDH; readonly auth: Buffer },
): Buffer {
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  const sender = body.subarray(21, 21 + body.readUInt8(20));
  const record = body.subarray(21 + sender.length);
  if (record.length > recordSize) throw new Error('more than one record');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), curve.getPublicKey(), sender]);
  const secret = derive(curve.computeSecret(sender), auth, info, 32);
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== 2) throw new Error('the last record does not end with its mark');
  return padded.subarray(0, end);
}

function derive(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length));
}

function read(browser: Browser, { headers, method }: IncomingMessage, body: Buffer): ReceivedPush {
  if (method !== 'POST' || headers['content-encoding'] !== 'aes128gcm') throw new Error('not a push');
  const [, jwt = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(headers.authorization ?? '') ?? [];
  return {
    payload: JSON.parse(browser.decrypt(body).toString()),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    size: body.length,
    token: readToken(jwt, key),
    key,
  };
}

function readToken(jwt: string, key: string): ReceivedPush['token'] {
  const [head = '', claims = '', signature = ''] = jwt.split('.');
  const bytes = Buffer.from(key, 'base64url');
  const publicKey = createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: bytes.subarray(1, 33).toString('base64url'),
      y: bytes.subarray(33).toString('base64url'),
    },
  });
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new Error('the token is not signed with its key');
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
}

/**
 * Gives a page the subscription of a `Browser` here: without the internet a real browser has no
 * push service. All else, including the worker, is the browser's own.
 */
export function deviceIn(device: object): void {
  const key = 'test.subscribed';
  const subscription = {
    toJSON: () => device,
    unsubscribe: async () => localStorage.removeItem(key),
  };
  const { PushManager } = globalThis as unknown as { PushManager: { prototype: object } };
  Object.assign(PushManager.prototype, {
    getSubscription: async () => (localStorage.getItem(key) === null ? null : subscription),
    subscribe: async () => {
      localStorage.setItem(key, 'yes');
      return subscription;
    },
  });
}
