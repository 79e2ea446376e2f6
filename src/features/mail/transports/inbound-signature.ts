import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';

/** Maximum seconds, in both directions, between `t` of a signature and this node's clock. */
const SIGNATURE_S = 300;

/**
 * Reads one `Parley-Signature: t=<unix seconds>,v1=<hex>`, where v1 is the HMAC-SHA256 of
 * `<t>.<body>`. A sender that changes its secret sends one v1 for each, and this server may have
 * two secrets. One matching pair suffices. Throws ApiError `invalid_credentials` if the header is
 * missing, malformed or too old. The result yields the body, and throws the same error after its
 * last byte if the signature is wrong.
 */
export function signatureCheck(
  header: string | undefined,
  secrets: readonly string[],
): (body: AsyncIterable<Buffer>) => AsyncGenerator<Buffer, void> {
  if (header === undefined) throw refused('The header Parley-Signature is missing.');
  const { time, signatures } = parse(header);
  if (time === undefined || signatures.length === 0) {
    throw refused('The header Parley-Signature must be t=<unix seconds>,v1=<64 hexadecimal digits>.');
  }
  if (Math.abs(Date.now() / 1_000 - Number(time)) > SIGNATURE_S) {
    throw refused(`The signature is more than ${SIGNATURE_S} seconds old, or from the future. Sign again.`);
  }
  const hashes = secrets.map((secret) => createHmac('sha256', secret).update(`${time}.`));
  return async function* (body) {
    for await (const piece of body) {
      for (const hash of hashes) hash.update(piece);
      yield piece;
    }
    let isValid = false;
    for (const hash of hashes) {
      const actual = hash.digest();
      for (const expected of signatures) if (timingSafeEqual(actual, expected)) isValid = true;
    }
    if (!isValid) throw refused('The signature in Parley-Signature is not that of this body.');
  };
}

/** Parses the header; schemes other than v1 are for other versions of this server. */
function parse(header: string): {
  readonly time: string | undefined;
  readonly signatures: readonly Buffer[];
} {
  const parts = header.split(',', MAX_PARTS).map((part) => part.trim());
  const times = parts.filter((part) => TIME.test(part));
  const signatures = parts.filter((part) => V1.test(part));
  return {
    time: times.length === 1 ? times[0]!.slice('t='.length) : undefined,
    signatures: signatures.map((part) => Buffer.from(part.slice('v1='.length), 'hex')),
  };
}

const MAX_PARTS = 8;
const TIME = /^t=\d{1,12}$/;
const V1 = /^v1=[\da-f]{64}$/i;

function refused(message: string): ApiError {
  return new ApiError('invalid_credentials', message, { param: 'Parley-Signature' });
}
