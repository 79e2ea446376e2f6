import type { ErrorCondition } from '../../../../contract/protocol/errors.ts';
import { MailReceipt } from '../../../../contract/protocol/resources/mail-receipt.ts';
import { exampleOf } from './examples.ts';
import { refusalResponses } from './operations.ts';
import type { SchemaComponents, SchemaObject } from './schemas.ts';

/** Mail over HTTP. It is signed by the sender's server, so no header of the API is required. */
export function mailPaths(schemas: SchemaComponents): object {
  const schema = schemas.convert(MailReceipt as SchemaObject);
  return {
    '/v1/mail/inbound': {
      post: {
        operationId: 'receive_mail',
        'x-since': '1.2.harbor',
        tags: ['Mail'],
        summary: 'Hand in a mail as it came',
        description:
          'Takes in one mail for the inboxes that its headers name: `Delivered-To`, `X-Original-To` and `Envelope-To`, or else `To` and `Cc`. It answers once everything is committed. The same mail, sent again, is the same mail: send it again after every answer of 429 or 5xx, and after none.',
        security: [],
        parameters: [
          {
            name: 'Parley-Signature',
            in: 'header',
            required: true,
            description:
              '`t=<unix seconds>,v1=<hex>`: v1 is the HMAC-SHA256 of `<t>.<body>` with PARLEY_MAIL_SECRET. `t` differs from now by 300 seconds at most. There may be several v1, of which one must be right.',
            schema: { type: 'string' },
            example: 't=1792310400,v1=5d41402abc4b2a76b9719d911017c592f3a1b0c9d8e7f60514233241506f7e8d',
          },
        ],
        requestBody: {
          required: true,
          description: 'The source of the mail, 25 MiB at most.',
          content: { 'message/rfc822': { schema: { type: 'string', format: 'binary' } } },
        },
        responses: {
          200: {
            description: 'What became of the mail.',
            content: { 'application/json': { schema, example: exampleOf(schema, schemas.find) } },
          },
          ...refusalResponses(REFUSALS),
        },
      },
    },
  };
}

const REFUSALS: readonly ErrorCondition[] = [
  'invalid_credentials',
  'invalid_format',
  'payload_too_large',
  'unsupported_media_type',
  'head_too_large',
  'resource_not_found',
  'request_timeout',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
  'external_service_error',
  'timeout',
  'connection_error',
];
