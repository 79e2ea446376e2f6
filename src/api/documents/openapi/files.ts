import type { ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { MailReceipt } from '@parley/protocol/resources/email.ts';
import { exampleOf } from './examples.ts';
import { refusalResponses } from './operations.ts';
import type { SchemaComponents, SchemaObject } from './schemas.ts';
import type { Texts } from './texts.ts';

const SERVED: readonly ErrorCondition[] = [
  'resource_not_found',
  'head_too_large',
  'internal_error',
  'service_unavailable',
];
const STORED: readonly ErrorCondition[] = ['external_service_error', 'timeout', 'connection_error'];
const REFUSALS: readonly ErrorCondition[] = [
  'invalid_format',
  'insufficient_permissions',
  'resource_gone',
  ...SERVED,
];
const UPLOAD_REFUSALS: readonly ErrorCondition[] = [
  ...REFUSALS,
  'resource_conflict',
  'payload_too_large',
  'validation_failed',
  'request_timeout',
];
const MAIL_REFUSALS: readonly ErrorCondition[] = [
  'invalid_credentials',
  'invalid_format',
  'payload_too_large',
  'unsupported_media_type',
  'request_timeout',
  'rate_limit_exceeded',
  ...SERVED,
  ...STORED,
];

/**
 * Returns the paths of files that the server serves itself. Their URLs come from other answers, so
 * no API header is required: URLs of files are signed (with object storage there are none), and
 * URLs of avatars cannot be guessed.
 */
export function filePaths(texts: Texts): object {
  return {
    '/v1/avatars/{id}': {
      get: {
        operationId: 'show_avatar',
        tags: ['Attachments'],
        summary: 'Show the image of an actor',
        description: texts.get('show_avatar'),
        security: [],
        parameters: [parameter('id', 'path', 'Part of the address, which cannot be guessed.')],
        responses: {
          200: { description: 'The bytes of the image.', content: bytes('image/*') },
          ...refusalResponses([...SERVED, ...STORED]),
        },
      },
    },
    '/v1/files/{key}': {
      get: {
        ...operation('download_file', 'Download a file'),
        description: texts.get('download_file'),
        responses: {
          200: { description: 'The bytes of the file.', content: bytes() },
          ...refusalResponses(REFUSALS),
        },
      },
      put: {
        ...operation('upload_file', 'Send the bytes of a file'),
        description: texts.get('upload_file'),
        requestBody: { required: true, content: bytes() },
        responses: {
          204: { description: 'The file is stored.' },
          ...refusalResponses(UPLOAD_REFUSALS),
        },
      },
    },
  };
}

function operation(operationId: string, summary: string): object {
  return {
    operationId,
    tags: ['Attachments'],
    summary,
    security: [],
    parameters: [
      parameter('key', 'path', 'Key of the file, which may hold slashes.'),
      parameter('signature', 'query', 'Signature of the whole address, its other parameters among it.'),
    ],
  };
}

function parameter(name: string, place: 'path' | 'query', description: string): object {
  return { name, in: place, required: true, description, schema: { type: 'string' } };
}

function bytes(type = 'application/octet-stream'): object {
  return { [type]: { schema: { type: 'string', format: 'binary' } } };
}

export const MAIL_SINCE = '1.2.harbor';

/** Returns the paths of mail over HTTP, which needs no API header: the sender's server signs it. */
export function mailPaths(schemas: SchemaComponents, texts: Texts): object {
  const schema = schemas.convert(MailReceipt as SchemaObject);
  return {
    '/v1/mail/inbound': {
      post: {
        operationId: 'receive_mail',
        'x-since': MAIL_SINCE,
        tags: ['Mail'],
        summary: 'Hand in a mail as it came',
        description: texts.get('receive_mail'),
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
          content: bytes('message/rfc822'),
        },
        responses: {
          200: {
            description: 'What became of the mail.',
            content: { 'application/json': { schema, example: exampleOf(schema, schemas.find) } },
          },
          ...refusalResponses(MAIL_REFUSALS),
        },
      },
    },
  };
}
