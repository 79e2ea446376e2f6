import { MAIL_LIMITS } from '../mail-limits.ts';
import { cutText } from '../text/clean-text.ts';
import { structuredField } from './header.ts';
import type { MimePart } from './mime-splitter.ts';

/**
 * The role of a leaf: `plain` and `html` are the body, `wrapped` has a mail in it (S/MIME),
 * `status` is a report of a bounce or a complaint, `returned` is the mail that it is about, and
 * `ignored` parts serve only machines.
 */
export type PartRole = 'plain' | 'html' | 'attachment' | 'wrapped' | 'status' | 'returned' | 'ignored';

export function roleOf(part: MimePart): PartRole {
  const { value: type } = part.type;
  const container = part.parent?.type.value ?? '';
  if (STATUS.has(type)) return 'status';
  if (container === 'multipart/report' && RETURNED.has(type)) return 'returned';
  if (container === 'multipart/report' && type.startsWith('message/')) return 'ignored';
  if (isSignature(part)) return 'ignored';
  if (container === 'multipart/encrypted' && type === 'application/pgp-encrypted') return 'ignored';
  if (isWrapped(part)) return 'wrapped';
  // A multipart cannot be split if its boundary is missing or it is nested too deep.
  if (type.startsWith('multipart/')) return part.parent === null ? 'plain' : 'ignored';
  if (container === 'multipart/alternative' && OTHER_BODIES.has(type)) return 'ignored';
  if (type !== 'text/plain' && type !== 'text/html') return 'attachment';
  const disposition = structuredField(part.header.raw('content-disposition'));
  if (disposition.value === 'attachment') return 'attachment';
  // Some mailers show text files inline, which does not make them the body. A text that is the
  // whole mail is its body.
  const isFile = part.parent !== null && nameOf(part) !== '' && container !== 'multipart/alternative';
  if (isFile) return 'attachment';
  return type === 'text/html' ? 'html' : 'plain';
}

const STATUS = new Set([
  'message/delivery-status',
  'message/global-delivery-status',
  'message/feedback-report',
]);
const RETURNED = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'message/global-headers',
]);
const SIGNATURES = /^application\/(pgp-signature|(x-)?pkcs7-signature)$/;
/** The same body in forms for other kinds of clients. */
const OTHER_BODIES = new Set([
  'text/x-amp-html',
  'text/watch-html',
  'text/enriched',
  'text/richtext',
  'text/rtf',
]);

/** Files that are signed have this type as well, with names of their own (`invoice.pdf.p7m`). */
function isWrapped(part: MimePart): boolean {
  const { value: type, parameters } = part.type;
  const isOfType = /^application\/(x-)?pkcs7-mime$/.test(type);
  const name = nameOf(part);
  if (/^smime\.p7m$/i.test(name)) return isOfType || type === 'application/octet-stream';
  return isOfType && (name === '' || parameters.has('smime-type'));
}

/** Returns whether a part is the signature of the one before it (RFC 1847). */
export function isSignature({ type, parent }: MimePart): boolean {
  return parent?.type.value === 'multipart/signed' && SIGNATURES.test(type.value);
}

/** Returns the file name of an attached part. */
export function filenameOf(part: MimePart): string {
  const name = nameOf(part).replace(/^.*[/\\]/, '');
  const { value: type } = part.type;
  return shortened(name) || FILENAMES[type] || `attachment${EXTENSIONS[type] ?? ''}`;
}

/** Returns the part's own name, or '' if it has none. */
function nameOf(part: MimePart): string {
  const disposition = structuredField(part.header.raw('content-disposition'));
  return disposition.parameters.get('filename') ?? part.type.parameters.get('name') ?? '';
}

function shortened(name: string): string {
  const most = MAIL_LIMITS.filenameCharacters;
  if (name.length <= most) return name;
  const extension = /\.[^.]{1,15}$/.exec(name)?.[0] ?? '';
  return cutText(name, most - extension.length) + extension;
}

const FILENAMES: Readonly<Record<string, string>> = {
  'message/rfc822': 'message.eml',
  'text/calendar': 'invite.ics',
  'application/ics': 'invite.ics',
  'application/ms-tnef': 'winmail.dat',
};
const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/plain': '.txt',
  'text/html': '.html',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
};
