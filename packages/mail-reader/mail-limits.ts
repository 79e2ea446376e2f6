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

/**
 * The limits of reading one mail. A mail that breaks a limit is kept whole, as a file. The most
 * that the corpus and honest mails of 25 MiB take is 310 ms with the start of the thread, and 38
 * MiB, of which 26 MiB are the thread's own.
 */
export const READING_LIMITS = {
  /** Milliseconds of processor time. Other mails wait meanwhile. */
  processorMs: 5_000,
  /** Bytes of the heap of the thread and of its buffers. */
  memoryBytes: 128 * 1024 * 1024,
  /** Milliseconds until the next piece is asked for or given, however busy the machine is. */
  silentMs: 20_000,
};

export type ReadingLimits = Readonly<typeof READING_LIMITS>;
