import type { Random } from '../support/random.ts';
import {
  type Claims,
  type IssuerKey,
  newKey,
  partOf,
  signatureOf,
  signed,
  signedWithSecret,
  type TokenIssuer,
  timesNow,
} from '../support/token-issuer.ts';
import { AUDIENCE } from './fixture.ts';

export interface Hostile {
  readonly kind: string;
  readonly token: string;
}

/** Makes tokens that must not be admitted, of every kind in turn, and honest ones. */
export class Forger {
  readonly #issuer: TokenIssuer;
  readonly #random: Random;
  readonly #stranger = newKey('stranger', 'RS256');
  readonly #strangers: readonly IssuerKey[] = [this.#stranger, newKey('es', 'ES256'), newKey('ed', 'EdDSA')];

  constructor(issuer: TokenIssuer, random: Random) {
    this.#issuer = issuer;
    this.#random = random;
  }

  honest(): string {
    const random = this.#random;
    const { origin: iss, keys } = this.#issuer;
    const nowS = Math.floor(Date.now() / 1_000);
    const aud = random.pick<unknown>([AUDIENCE, [AUDIENCE], ['https://other.example.com', AUDIENCE]]);
    const claims = {
      iss,
      aud,
      sub: `person-${random.below(5)}`,
      jti: String(random.next()),
      ...random.pick<Claims>([
        { iat: nowS, exp: nowS + 60 + random.below(9_000) },
        // Clocks differ by a minute.
        { iat: nowS + random.below(50), exp: nowS + 600 },
        { iat: nowS - 600, exp: nowS - random.below(30) },
        { iat: nowS, exp: nowS + 600, nbf: nowS + random.below(50) },
        { iat: nowS + 0.25, exp: nowS + 600.75, nbf: nowS - 10 },
      ]),
      ...random.pick<Claims>([{}, { nonce: 'n' }, { scope: 'a b', nested: { a: [{ b: { a: 1 } }] } }]),
    };
    const key = random.pick(keys);
    const typ = random.pick([undefined, 'JWT', 'at+jwt', 'application/at+jwt', 'jwt']);
    // Keys in the header are not read, and not a fault.
    const more = random.pick<Claims>([{}, {}, { jku: 'https://evil.example.com/keys' }, { x5t: 'abc' }]);
    return this.#issuer.token(claims, { key, header: { ...(typ && { typ }), ...more } });
  }

  hostile(index: number): Hostile {
    const kinds = Object.entries(this.#kinds);
    const [kind, forge] = kinds[index % kinds.length]!;
    return { kind, token: forge() };
  }

  get kinds(): number {
    return Object.keys(this.#kinds).length;
  }

  readonly #kinds: Readonly<Record<string, () => string>> = {
    'RS to HS with the public key as PEM': () =>
      this.#confused(this.#key.publicKey.export({ format: 'pem', type: 'spki' }) as string),
    'RS to HS with the public key as DER': () =>
      this.#confused(this.#key.publicKey.export({ format: 'der', type: 'spki' })),
    'RS to HS with the public key as JWK': () =>
      this.#confused(JSON.stringify(this.#key.publicKey.export({ format: 'jwk' }))),
    'HS with an empty secret': () => this.#confused(''),
    none: () => {
      const alg = this.#random.pick(['none', 'None', 'NONE', 'nOnE', '']);
      const end = this.#random.pick(['', 'AAAA', signatureOf('x', this.#stranger)]);
      return `${partOf({ alg, typ: 'JWT' })}.${partOf(this.#claims())}.${end}`;
    },
    'no algorithm': () => signed({ kid: this.#key.kid }, this.#claims(), this.#key),
    'an algorithm that is no text': () =>
      signed(
        { alg: this.#random.pick<unknown>([['RS256'], { a: 1 }, 256, null]), kid: this.#key.kid },
        this.#claims(),
        this.#key,
      ),
    'an algorithm of another key': () => {
      const alg = this.#random.pick(['ES256', 'EdDSA', 'PS256', 'RS384', 'ES384', 'HS256']);
      return signed({ alg, kid: this.#key.kid }, this.#claims(), this.#key);
    },
    'an algorithm that was not allowed': () => {
      const input = `${partOf({ alg: 'RS512', kid: this.#key.kid })}.${partOf(this.#claims())}`;
      return `${input}.${signatureOf(input, this.#key)}`;
    },
    jwk: () =>
      this.#injected({
        jwk: this.#stranger.publicKey.export({ format: 'jwk' }),
        kid: this.#random.pick([this.#key.kid, 'stranger']),
      }),
    'jwk without kid': () =>
      this.#injected({ jwk: this.#stranger.publicKey.export({ format: 'jwk' }), kid: undefined }),
    jku: () =>
      this.#injected({
        jku: `${this.#issuer.origin}/others`,
        kid: this.#random.pick([this.#key.kid, 'stranger']),
      }),
    x5u: () => this.#injected({ x5u: `${this.#issuer.origin}/others`, kid: this.#key.kid }),
    x5c: () =>
      this.#injected({
        x5c: [this.#stranger.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')],
        kid: this.#key.kid,
      }),
    'kid tricks': () => {
      const kid = this.#random.pick<unknown>([
        '../../../dev/null',
        '/dev/null',
        "x' UNION SELECT 'key",
        '__proto__',
        'constructor',
        '',
        ['first-RS256'],
        { toString: 'first-RS256' },
        0,
        null,
        'first-RS256\u0000',
        `${this.#key.kid} `,
      ]);
      return signed({ alg: 'RS256', kid }, this.#claims(), this.#stranger);
    },
    'a secret at /dev/null': () => signedWithSecret({ alg: 'HS256', kid: '/dev/null' }, this.#claims(), ''),
    'the key of another': () => signed(this.#header(), this.#claims(), this.#stranger),
    'a key of the right kind of another': () => {
      const key = this.#random.pick(this.#strangers);
      const own = this.#issuer.keys.find(({ algorithm }) => algorithm === key.algorithm)!;
      return signed({ alg: key.algorithm, kid: own.kid }, this.#claims(), key);
    },
    'another issuer': () => {
      const { origin } = this.#issuer;
      const iss = this.#random.pick<unknown>([
        `${origin}/`,
        origin.toUpperCase(),
        `${origin}#`,
        ` ${origin}`,
        origin.replace('127.0.0.1', 'localhost'),
        'https://evil.example.com',
        'parley',
        [origin],
        null,
        '',
        { iss: origin },
      ]);
      return this.#honestly({ iss });
    },
    'no issuer': () => this.#honestly({ iss: undefined }),
    'another audience': () =>
      this.#honestly({
        aud: this.#random.pick<unknown>([
          `${AUDIENCE}/`,
          AUDIENCE.toUpperCase(),
          ['https://other.example.com'],
          [],
          [[AUDIENCE]],
          [AUDIENCE, 1],
          { aud: AUDIENCE },
          '',
          null,
          `${AUDIENCE} `,
          undefined,
        ]),
      }),
    expired: () => this.#honestly({ exp: this.#nowS - 61 - this.#random.below(1e6), iat: this.#nowS - 2e6 }),
    'not yet': () => {
      const laterS = this.#nowS + 90 + this.#random.below(1e6);
      return this.#honestly(this.#random.pick<Claims>([{ nbf: laterS }, { iat: laterS, exp: laterS + 600 }]));
    },
    'odd times': () => {
      const odd = this.#random.pick<unknown>([
        undefined,
        null,
        String(this.#nowS + 600),
        true,
        [this.#nowS + 600],
        {},
        -1,
        1e300,
      ]);
      const name = this.#random.pick(odd === undefined ? ['exp', 'iat'] : ['exp', 'iat', 'nbf']);
      return this.#honestly({ [name]: odd });
    },
    'odd subjects': () =>
      this.#honestly({
        sub: this.#random.pick<unknown>([
          undefined,
          null,
          '',
          7,
          ['a'],
          {},
          'a\u0000b',
          'a\nb',
          'x'.repeat(256),
          '\ud800',
        ]),
      }),
    'repeated members in the claims': () => {
      const claims = JSON.stringify(this.#claims());
      const twice = this.#random.pick([
        `"sub":"somebody"`,
        `"exp":${this.#nowS + 900}`,
        `"\\u0073ub":"somebody"`,
        `"iss":${JSON.stringify(this.#issuer.origin)}`,
        `"x":{"a":1,"\\u0061":2}`,
        `"x":[{"a":1,"a":1}]`,
      ]);
      return signed(this.#header(), `{${twice},${claims.slice(1)}`, this.#key);
    },
    'repeated members in the header': () => {
      const header = JSON.stringify(this.#header()).slice(1);
      const twice = this.#random.pick([`"alg":"none"`, `"alg":"RS256"`, `"kid":"x"`, `"\\u0061lg":"HS256"`]);
      return signed(`{${twice},${header}`, this.#claims(), this.#key);
    },
    'no JSON object': () => {
      const part = this.#random.pick([
        '',
        '[]',
        'null',
        '"a"',
        '7',
        '{',
        '{"a":1}}',
        '\ufeff{"alg":"RS256"}',
        "{'alg':'RS256'}",
        '\u0000',
      ]);
      const isHeader = this.#random.next() < 0.5;
      return signed(isHeader ? part : this.#header(), isHeader ? this.#claims() : part, this.#key);
    },
    'bytes that are not UTF-8': () => {
      const bytes = Buffer.concat([
        Buffer.from(`{"x":"`),
        Buffer.from([0xff, 0xfe, 0xc0]),
        Buffer.from(`",${JSON.stringify(this.#claims()).slice(1)}`),
      ]);
      const input = `${partOf(this.#header())}.${bytes.toString('base64url')}`;
      return `${input}.${signatureOf(input, this.#key)}`;
    },
    huge: () => this.#honestly({ x: 'x'.repeat(8_192 + this.#random.below(2_000)) }),
    'deep values': () => {
      const depth = 20 + this.#random.below(1_000);
      const claims = JSON.stringify(this.#claims()).slice(1);
      return signed(this.#header(), `{"x":${'['.repeat(depth)}${']'.repeat(depth)},${claims}`, this.#key);
    },
    'a token in a token': () => {
      const inner = this.#issuer.token(this.#claims());
      const parts = inner.split('.');
      return this.#random.pick([
        signed({ ...this.#header(), cty: 'JWT' }, JSON.stringify(inner), this.#key),
        `${parts[0]}.${parts[0]}.${parts[1]}.${parts[1]}.${parts[2]}`,
        `${inner}.${parts[2]}`,
        `${parts[0]}.${parts[1]}`,
        JSON.stringify({ protected: parts[0], payload: parts[1], signature: parts[2] }).replaceAll(' ', ''),
      ]);
    },
    'odd base64': () => {
      const parts = this.#issuer.token(this.#claims()).split('.');
      const at = this.#random.below(3);
      const part = parts[at]!;
      parts[at] = this.#random.pick([
        `${part}=`,
        `${part}==`,
        `${part.slice(0, 5)}+/${part.slice(5)}`,
        `${part.slice(0, 5)}%2E${part.slice(5)}`,
        // The same bytes in another spelling, where there is one.
        otherSpelling(part) ?? `${part}!`,
        '',
        `${part}A`,
      ]);
      return parts.join('.');
    },
    'changed claims': () => {
      const [header, , signature] = this.#issuer.token(this.#claims()).split('.');
      return `${header}.${partOf(this.#claims({ sub: 'admin' }))}.${signature}`;
    },
    'a changed signature': () => {
      const token = this.#issuer.token(this.#claims());
      const at = token.length - 2 - this.#random.below(80);
      return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    },
    'a signature of zeros': () => {
      const key = this.#issuer.keys.find(({ algorithm }) => algorithm === 'ES256')!;
      return `${partOf({ alg: 'ES256', kid: key.kid })}.${partOf(this.#claims())}.${Buffer.alloc(64).toString('base64url')}`;
    },
    'a signature in DER': () => {
      const key = this.#issuer.keys.find(({ algorithm }) => algorithm === 'ES256')!;
      const token = this.#issuer.token(this.#claims(), { key });
      const [header, claims, signature] = token.split('.');
      return `${header}.${claims}.${Buffer.concat([Buffer.from([0x30, 0x44]), Buffer.from(signature!, 'base64url')]).toString('base64url')}`;
    },
    crit: () => {
      const crit = this.#random.pick<unknown>([['exp'], ['b64'], [], 'exp', null, ['x']]);
      return this.#issuer.token(this.#claims(), { header: { crit, exp: 1, b64: false } });
    },
    b64: () => this.#issuer.token(this.#claims(), { header: { b64: this.#random.pick([true, false]) } }),
    'another type': () => {
      const typ = this.#random.pick<unknown>([
        'logout+jwt',
        'JWE',
        'dpop+jwt',
        'secevent+jwt',
        '',
        7,
        ['JWT'],
        'application/json',
        'id+jwt',
      ]);
      return this.#issuer.token(this.#claims(), { header: { typ } });
    },
    'a logout token': () =>
      this.#honestly({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
  };

  get #nowS(): number {
    return Math.floor(Date.now() / 1_000);
  }

  get #key(): IssuerKey {
    return this.#issuer.keys[0]!;
  }

  #header(): object {
    return { alg: this.#key.algorithm, kid: this.#key.kid };
  }

  #claims(more: Claims = {}): Claims {
    return {
      iss: this.#issuer.origin,
      aud: AUDIENCE,
      sub: 'person-1',
      ...timesNow(),
      jti: String(this.#random.next()),
      ...more,
    };
  }

  /** Signed with the right key. */
  #honestly(claims: Claims): string {
    return this.#issuer.token(this.#claims(claims));
  }

  #confused(secret: string | Buffer): string {
    return signedWithSecret(
      { alg: this.#random.pick(['HS256', 'HS384']), kid: this.#key.kid },
      this.#claims(),
      secret,
    );
  }

  #injected(header: object): string {
    return signed({ alg: 'RS256', ...header }, this.#claims(), this.#stranger);
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Base64 of one or two bytes at the end has bits that mean nothing. */
function otherSpelling(part: string): string | undefined {
  const rest = part.length % 4;
  if (rest === 0) return undefined;
  return part.slice(0, -1) + ALPHABET[ALPHABET.indexOf(part.at(-1)!) ^ 1]!;
}
