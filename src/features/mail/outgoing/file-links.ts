import { FileUrls, type FileUrlsOptions } from '../../../core/attachments/file-urls.ts';

const LINKED_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** The path prefix of the links. */
export const FILE_LINKS_PATH = '/v1/mail/files/';

/**
 * Links in mails to files that are too large to attach. A link works for a month while the message
 * has its file. It redirects to an address of the store that is valid for minutes.
 */
export class FileLinks {
  readonly #urls: FileUrls;
  readonly #now: () => number;

  constructor({ now = Date.now, ...options }: Omit<FileUrlsOptions, 'path'>) {
    this.#urls = new FileUrls({ ...options, now, path: FILE_LINKS_PATH });
    this.#now = now;
  }

  /** Returns when a link that is made today expires, in ISO 8601. */
  end(): string {
    return new Date(this.#now() - (this.#now() % DAY_MS) + (LINKED_DAYS + 1) * DAY_MS - 1).toISOString();
  }

  make(attachmentId: string, until: string): string {
    return this.#urls.sign('GET', { key: attachmentId, expiresAtMs: Date.parse(until), fields: {} });
  }

  /** Returns the id of the attachment. Throws ApiError for a foreign or expired address. */
  read(path: string, query: string): string {
    return this.#urls.verify('GET', path, query).key;
  }
}
