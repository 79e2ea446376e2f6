import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import { unsupportedType } from '../../../api/pipeline/json-type.ts';
import type { PublicAnswer, PublicRoutes, StreamedRequest } from '../../../api/pipeline/public-routes.ts';
import type { MailHead } from '../mails/mail-store.ts';
import type { MailMetrics } from '../metrics.ts';
import type { Envelope } from './envelope.ts';
import { signatureCheck } from './inbound-signature.ts';
import { type Intake, MAX_MAIL_BYTES, mailTooLarge, refusalOf } from './intake.ts';
import type { Places } from './places.ts';
import { releasing } from './released-pieces.ts';

export interface InboundRoutesOptions {
  readonly intake: Pick<Intake, 'receive'>;
  /** PARLEY_MAIL_SECRET, or null if no mail is accepted over HTTP. */
  readonly secrets: readonly string[] | null;
  readonly places: Places;
  readonly metrics: Pick<MailMetrics, 'mailRefusals'>;
}

const INBOUND_PATH = '/v1/mail/inbound';

/**
 * Accepts mail over HTTP (docs/contract.md#mail-that-comes-in). The signature is the credential, so
 * no other header is required.
 */
export function inboundRoutes({ intake, secrets, places, metrics }: InboundRoutesOptions): PublicRoutes {
  const receive = async (request: StreamedRequest): Promise<PublicAnswer> => {
    let free: (() => void) | undefined;
    try {
      const check = checkHead(request, secrets);
      free = places.take(request.address);
      const bytes = releasing(check(within(BODY_MS, request.body)));
      return answerTo(await intake.receive(bytes, ENVELOPE));
    } catch (error) {
      const reason = refusalOf(error);
      if (reason !== undefined) metrics.mailRefusals.inc({ transport: 'http', reason });
      throw error;
    } finally {
      free?.();
    }
  };
  return { [INBOUND_PATH]: { limited: { post: receive } } };
}

/** The envelope is in the headers, as noted by the server that took the mail. */
const ENVELOPE: Envelope = { transport: 'http', sender: null, recipients: null, client: null };

/** Time for a mail of MAX_MAIL_BYTES on a slow line. After that its signature would be too old. */
const BODY_MS = 300_000;
/** The bytes that must arrive in each interval. */
const PACE = { ms: 30_000, bytes: 64 * 1024 } as const;

/** Checks the head, before a byte of the body is read. */
function checkHead(
  { contentLength, contentType, signature }: StreamedRequest,
  secrets: readonly string[] | null,
): ReturnType<typeof signatureCheck> {
  if (secrets === null) {
    const message = 'This server takes no mail over HTTP, because PARLEY_MAIL_SECRET is not set.';
    throw new ApiError('resource_not_found', message);
  }
  const check = signatureCheck(signature, secrets);
  if (!MAIL_TYPE.test(contentType ?? '')) {
    throw unsupportedType('Send the mail as it came, with the Content-Type message/rfc822.');
  }
  if (contentLength === 0) throw new ApiError('invalid_format', 'The mail is empty.');
  if (contentLength > MAX_MAIL_BYTES) throw mailTooLarge();
  return check;
}

const MAIL_TYPE = /^message\/rfc822\s*(;|$)/i;

/**
 * Throws ApiError `request_timeout` if the body is not complete within `ms`, or arrives too slowly:
 * it occupies a place before its signature is proven.
 */
async function* within(ms: number, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const iterator = body[Symbol.asyncIterator]();
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  const timer = setTimeout(() => {
    reject(new ApiError('request_timeout', `The mail was not complete within ${ms / 1_000} s.`));
  }, ms);
  let arrived = 0;
  const pace = setInterval(() => {
    if (arrived < PACE.bytes) reject(new ApiError('request_timeout', 'The mail arrived too slowly.'));
    arrived = 0;
  }, PACE.ms);
  try {
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), late]);
      if (done) return;
      arrived += value.length;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    clearInterval(pace);
    // Not awaited, because it waits for a byte that may never come. The answer ends the body.
    iterator.return?.()?.catch(() => undefined);
  }
}

function answerTo(mails: readonly MailHead[]): PublicAnswer {
  const receipt: MailReceipt = {
    object: 'mail_receipt',
    mails: mails.map(({ id, inbox_id, status, reason, conversation_id, message_id }) => ({
      id,
      inbox_id,
      status,
      reason,
      conversation_id,
      message_id,
    })),
  };
  return { status: 200, body: JSON.stringify(receipt) };
}
