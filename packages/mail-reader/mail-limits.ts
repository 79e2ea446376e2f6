import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';

/** The limits of a stored mail. The rest is only in its source, and the mail is damaged. */
export const MAIL_LIMITS = {
  attachments: MESSAGE_LIMITS.attachments,
  /** UTF-16 code units of the text that a message shows, and of the whole text. */
  visibleCharacters: MESSAGE_LIMITS.bodyCharacters,
  textCharacters: 200_000,
  /** Bytes of plain text and of HTML before decoding, for all parts of a mail. */
  textBytes: 512 * 1024,
  htmlBytes: 2 * 1024 * 1024,
  /** UTF-16 code units of HTML. If there is more, pictures are not embedded. */
  htmlCharacters: 500_000,
  /** Bytes of a bounce report and of the returned headers. */
  reportBytes: 256 * 1024,
  filenameCharacters: 255,
  subjectCharacters: MESSAGE_LIMITS.subjectCharacters,
  /** UTF-16 code units of one decoded header. */
  headerCharacters: 10_000,
} as const;
