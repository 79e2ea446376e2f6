import type { EmailPurpose, EmailStatus } from '@parley/protocol/resources/email.ts';

/**
 * The second column of the corpus: the result of a mail in an account where Cleo has a case, whose
 * last mail to her is `our-mail@harbor.example`.
 */
export interface Becomes {
  readonly status: EmailStatus;
  readonly purpose: EmailPurpose;
  readonly reason: string | null;
  /** Whether it belongs to the case of Cleo, begins one, or to none. */
  readonly conversation: 'known' | 'new' | null;
}

/** Mails that become the same. */
const ALIKE: readonly (readonly [becomes: Becomes, names: readonly string[]])[] = [
  [
    { status: 'accepted', purpose: 'message', reason: null, conversation: 'known' },
    [
      'gmail-reply',
      'outlook-reply-german',
      'long-folded-headers',
      'ids-as-encoded-words',
      'person-with-auto-response-suppress',
      'changed-subject',
    ],
  ],
  [
    { status: 'accepted', purpose: 'automatic', reason: 'auto_submitted', conversation: 'known' },
    ['auto-reply-english', 'auto-reply-german'],
  ],
  [
    { status: 'accepted', purpose: 'automatic', reason: 'empty_sender', conversation: 'known' },
    ['auto-reply-french'],
  ],
  [
    { status: 'accepted', purpose: 'automatic', reason: 'auto_reply', conversation: 'known' },
    ['auto-reply-spanish'],
  ],
  [
    { status: 'accepted', purpose: 'message', reason: 'list', conversation: 'new' },
    ['newsletter-answers-an-old-thread'],
  ],
  [
    { status: 'accepted', purpose: 'message', reason: 'unproven', conversation: 'new' },
    ['mailing-list-with-a-footer'],
  ],
  [
    { status: 'accepted', purpose: 'message', reason: 'unverified', conversation: 'new' },
    ['forged-customer', 'two-senders', 'own-inbox-as-sender'],
  ],
  [{ status: 'accepted', purpose: 'note', reason: null, conversation: 'known' }, ['note-of-a-team-member']],
  [
    { status: 'accepted', purpose: 'bounce', reason: 'returned', conversation: 'known' },
    [
      'bounce-of-postfix',
      'bounce-of-exchange',
      'bounce-of-gmail',
      'bounce-of-qmail',
      'bounce-of-exim',
      'bounce-of-old-postfix',
      'bounce-of-old-exchange',
    ],
  ],
  [
    { status: 'accepted', purpose: 'bounce', reason: 'delayed', conversation: 'known' },
    ['delay-of-sendmail'],
  ],
  [
    { status: 'ignored', purpose: 'automatic', reason: 'auto_submitted', conversation: null },
    ['read-receipt', 'complaint'],
  ],
  [
    { status: 'ignored', purpose: 'message', reason: 'no_sender', conversation: null },
    ['no-header-at-all', 'nonsense-in-every-header'],
  ],
  // Whatever is odd about these is nothing that a person could not have sent.
  [
    { status: 'accepted', purpose: 'message', reason: null, conversation: 'new' },
    [
      'plain',
      'gmail-html-alone',
      'outlook-reply-french-html',
      'outlook-original-message',
      'apple-mail-picture-between-texts',
      'thunderbird-flowed-interleaved',
      'answer-below-the-quote',
      'signature-above-the-quote',
      'nested-replies',
      'quote-alone',
      'forwarded',
      'mobile-outlook',
      'yahoo-japan-reply',
      'calendar-invitation',
      'inline-picture',
      'forwarded-as-attachment',
      'winmail-dat',
      'signed-with-pgp',
      'text-file',
      'attachment-alone',
      'ten-megabytes',
      'words-in-headers',
      'character-split-over-words',
      'broken-words',
      'raw-headers-in-latin-1',
      'raw-headers-in-utf-8',
      'file-names-of-rfc-2231',
      'windows-1252-called-latin-1',
      'utf-8-called-latin-1',
      'latin-1-called-utf-8',
      'utf-8-without-a-charset',
      'latin-2',
      'windows-1251',
      'koi8-r',
      'shift-jis',
      'iso-2022-jp',
      'gb18030',
      'utf-7',
      'unknown-charset',
      'quoted-printable-in-its-usual-ways',
      'base64-in-its-usual-ways',
      'html-that-declares-itself',
      'control-characters',
      'halves-of-characters',
      'flowed-with-del-sp',
      'smime-signed',
      'smime-signed-in-pieces',
      'smime-signed-in-an-old-type',
      'smime-signed-called-a-file',
      'smime-signed-twice',
      'smime-signed-below-a-list-footer',
      'smime-signed-and-cut',
      'smime-encrypted',
      'smime-encrypted-and-signed',
      'smime-certificates-alone',
      'smime-that-is-none',
      'signed-files',
      'smime-signature-beside-the-text',
      'pgp-encrypted',
      'stranger-knows-our-id',
      'address-in-the-name',
      'address-in-an-encoded-word',
      'lines-in-an-encoded-header',
      'same-subject-alone',
      'bounce-that-a-customer-quotes',
      'header-alone',
      'no-blank-line-before-the-body',
      'junk-between-headers',
      'line-feeds-alone',
      'line-of-a-mailbox-file',
      'no-boundary',
      'boundary-that-never-comes',
      'no-last-boundary',
      'boundaries-that-begin-alike',
      'inner-boundary-missing-its-end',
      'ids-without-brackets',
      'encoded-multipart',
      'more-attachments-than-a-message-has',
      'scripts-in-html',
      'html-entities-and-blocks',
      'lists-and-links-in-each-other',
      'hundred-thousand-headers',
      'ten-thousand-multiparts-in-each-other',
      'ten-thousand-parts',
      'one-line-of-five-megabytes',
      'lines-that-are-nearly-boundaries',
      'tags-without-an-end',
      'addresses-without-an-end',
    ],
  ],
];

/** By name of the mail. */
export const BECOMES: Readonly<Record<string, Becomes>> = Object.fromEntries(
  ALIKE.flatMap(([becomes, names]) => names.map((name) => [name, becomes])),
);
