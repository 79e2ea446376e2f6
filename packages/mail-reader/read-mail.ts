import { MAIL_LIMITS } from './mail-limits.ts';
import { decodeText } from './mime/charset.ts';
import { CmsContent } from './mime/cms-content.ts';
import { decodeField, type Header, isForServers, lineOf, messageIdsOf } from './mime/header.ts';
import { type MimeEvent, type MimePart, MimeSplitter } from './mime/mime-splitter.ts';
import { filenameOf, isSignature, type PartRole, roleOf } from './mime/part-role.ts';
import { type TransferDecoder, transferDecoder } from './mime/transfer-encoding.ts';
import { type MailProtection, NOTHING_READ, type ReadMail } from './parsed-mail.ts';
import { readComplaint } from './reports/complaint.ts';
import { readReport } from './reports/delivery-report.ts';
import { isSource, isWhole } from './text/alternatives.ts';
import { cleanText, cutText } from './text/clean-text.ts';
import { unflowed } from './text/flowed-text.ts';
import { isForward } from './text/mail-head.ts';
import { readHtml, textAsHtml } from './text/mail-html.ts';
import { visibleText } from './text/visible-text.ts';

/** Takes the bytes of attachments while a mail is read, one attachment at a time. */
export interface AttachmentSink {
  begin(attachment: { readonly filename: string; readonly contentType: string }): Promise<void>;
  /** Resolves once there is room for more. */
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/**
 * Reads a mail of any size in a few megabytes of memory. Unreadable parts are left out, so no mail
 * makes it throw. Rethrows errors of `bytes` and the sink. `onHeader` gets what is known before the
 * body.
 */
export async function readMailBytes(
  bytes: AsyncIterable<Buffer>,
  sink: AttachmentSink,
  onHeader: (mail: ReadMail) => void = () => {},
): Promise<ReadMail> {
  const reader = new MailReader(sink, onHeader);
  for await (const piece of bytes) await reader.write(piece);
  return reader.finish();
}

/** A text whose transfer encoding is decoded, but not its character set. */
interface Body {
  readonly part: MimePart;
  readonly bytes: Buffer[];
}

/** A piece of the body: one text, or one in several forms. */
interface Passage {
  readonly plain: Body[];
  readonly html: Body[];
}

class MailReader {
  readonly #splitter = new MimeSplitter();
  readonly #sink: AttachmentSink;
  readonly #onHeader: (mail: ReadMail) => void;
  #header: Header | null = null;
  readonly #passages = new Map<MimePart, Passage>();
  readonly #status: Buffer[] = [];
  readonly #returned: Buffer[] = [];
  /** Content-ID → position of the attachment. */
  readonly #pictures = new Map<string, number>();
  #attachments = 0;
  /** The open leaves: a leaf with a mail in it has those of that mail beside it. */
  readonly #leaves = new Map<MimePart, Leaf>();
  /** The text before the first part, which is the body if no part follows. */
  readonly #preamble: Buffer[] = [];
  readonly #room = {
    plain: MAIL_LIMITS.textBytes as number,
    html: MAIL_LIMITS.htmlBytes as number,
    status: MAIL_LIMITS.reportBytes as number,
    returned: MAIL_LIMITS.reportBytes as number,
  };
  #protection: MailProtection | null = null;
  #isDamaged = false;

  constructor(sink: AttachmentSink, onHeader: (mail: ReadMail) => void) {
    this.#sink = sink;
    this.#onHeader = onHeader;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#take(this.#splitter.write(bytes));
  }

  async #take(events: Iterable<MimeEvent>): Promise<void> {
    for (const event of events) {
      if (event.kind === 'open') this.#open(event.part);
      else if (event.kind === 'bytes') await this.#write(event.part, event.bytes);
      else await this.#close(event.part);
    }
  }

  #open(part: MimePart): void {
    if (part.parent === null) {
      this.#header = part.header;
      this.#onHeader(this.#described({ isDamaged: true }));
    }
    if (isSignature(part)) this.#protection ??= 'signed';
    if (part.type.value === 'multipart/encrypted') this.#noteEncrypted(part);
    if (part.boundary !== null) return;
    const role = roleOf(part);
    const encoding = part.header.raw('content-transfer-encoding') ?? '';
    const splitter = role === 'wrapped' ? this.#splitter.within(part) : null;
    this.#leaves.set(part, {
      part,
      role: role === 'wrapped' && splitter === null ? 'attachment' : role,
      decoder: transferDecoder(encoding),
      body: this.#bodyOf(part, role),
      wrapped: splitter && { content: new CmsContent(), splitter },
      hasBegun: false,
    });
  }

  /** Has a sentence in place of a part that is encrypted. */
  #noteEncrypted(part: MimePart): void {
    this.#protection = 'encrypted';
    this.#passages.set(part, { plain: [{ part, bytes: [ENCRYPTED] }], html: [] });
  }

  #bodyOf(part: MimePart, role: PartRole): Buffer[] {
    if (role === 'status') return this.#status;
    if (role === 'returned') return this.#returned;
    if (role !== 'plain' && role !== 'html') return [];
    const passage = this.#passageOf(part);
    const body: Body = { part, bytes: [] };
    passage[role].push(body);
    return body.bytes;
  }

  /** Joins parts of one `multipart/alternative` in one passage. */
  #passageOf(part: MimePart): Passage {
    let key = part;
    for (let at = part.parent; at !== null; at = at.parent) {
      if (at.type.value === 'multipart/alternative') key = at;
    }
    const passage = this.#passages.get(key) ?? { plain: [], html: [] };
    this.#passages.set(key, passage);
    return passage;
  }

  async #write(part: MimePart, bytes: Buffer): Promise<void> {
    if (part.boundary !== null) {
      if (part.parent === null) this.#keep(this.#preamble, 'plain', bytes);
      return;
    }
    const leaf = this.#leaves.get(part);
    if (leaf !== undefined) await this.#writeDecoded(leaf, leaf.decoder.write(bytes));
  }

  async #close(part: MimePart): Promise<void> {
    if (part.boundary !== null) {
      // Its boundary never came, so everything is in the preamble.
      if (part.parent === null && part.children === 0) {
        this.#isDamaged = true;
        this.#passages.set(part, { plain: [{ part, bytes: this.#preamble }], html: [] });
      }
      return;
    }
    const leaf = this.#leaves.get(part);
    if (leaf === undefined) return;
    await this.#writeDecoded(leaf, leaf.decoder.end(), true);
    if (leaf.wrapped !== null) {
      await this.#take(leaf.wrapped.splitter.end());
      if (leaf.wrapped.content.isCut || leaf.wrapped.splitter.isDamaged) this.#isDamaged = true;
    }
    this.#leaves.delete(part);
    if (leaf.hasBegun) await this.#sink.end();
  }

  /** Reads the mail in a leaf. Returns the bytes of the leaf that are a file, if it has none. */
  async #writeWrapped(leaf: Leaf, bytes: Buffer, isLast: boolean): Promise<Buffer> {
    if (leaf.wrapped === null) return bytes;
    const { content, splitter } = leaf.wrapped;
    for (const piece of content.write(bytes, isLast)) await this.#take(splitter.write(piece));
    if (content.kind === 'signed') this.#protection ??= 'signed';
    if (content.kind === 'signed' || content.kind === undefined) return NOTHING;
    if (content.kind === 'encrypted') this.#noteEncrypted(leaf.part);
    leaf.wrapped = null;
    leaf.role = 'attachment';
    return content.begun;
  }

  async #writeDecoded(leaf: Leaf, decoded: Buffer, isLast = false): Promise<void> {
    const bytes = await this.#writeWrapped(leaf, decoded, isLast);
    const { role } = leaf;
    if (bytes.length === 0 || role === 'ignored' || role === 'wrapped') return;
    if (role !== 'attachment') {
      this.#keep(leaf.body, role, bytes);
      return;
    }
    if (!leaf.hasBegun) {
      if (this.#attachments >= MAIL_LIMITS.attachments) {
        this.#isDamaged = true;
        return;
      }
      leaf.hasBegun = true;
      const [id] = messageIdsOf(leaf.part.header.raw('content-id') ?? '');
      if (id !== undefined && !this.#pictures.has(id)) this.#pictures.set(id, this.#attachments);
      this.#attachments += 1;
      await this.#sink.begin({ filename: filenameOf(leaf.part), contentType: leaf.part.type.value });
    }
    await this.#sink.write(bytes);
  }

  #keep(body: Buffer[], role: 'plain' | 'html' | 'status' | 'returned', bytes: Buffer): void {
    const room = this.#room[role];
    if (bytes.length > room && role !== 'returned') this.#isDamaged = true;
    if (room === 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    this.#room[role] -= kept.length;
    body.push(kept);
  }

  async finish(): Promise<ReadMail> {
    await this.#take(this.#splitter.end());
    if (this.#splitter.isDamaged) this.#isDamaged = true;
    const { text, html } = this.#body();
    const whole = this.#cut(text, MAIL_LIMITS.textCharacters);
    const visible = isForward(this.#header?.text('subject') ?? '') ? whole.trim() : visibleText(whole);
    return this.#described({
      text: whole,
      visibleText: cutText(visible, MAIL_LIMITS.visibleCharacters),
      html,
      ...this.#reports(whole),
      protection: this.#protection,
      isDamaged: this.#isDamaged,
    });
  }

  #reports(text: string): Pick<ReadMail, 'report' | 'complaint'> {
    const parts = { text, status: Buffer.concat(this.#status), returned: Buffer.concat(this.#returned) };
    const header = this.#header;
    if (header === null) return { report: null, complaint: null };
    return { report: readReport(header, parts), complaint: readComplaint(header, parts) };
  }

  #body(): { readonly text: string; readonly html: string | null } {
    const texts: string[] = [];
    const htmls: string[] = [];
    let hasHtml = false;
    for (const { plain, html } of this.#passages.values()) {
      const text = plain.map((body) => this.#plainText(body)).join('\n');
      const source =
        html.length === 0 && isSource(text) ? text : html.map((body) => this.#decoded(body)).join('\n');
      const shown = source === '' ? null : this.#html(source);
      if (shown !== null) hasHtml = true;
      const isPlain =
        shown === null || shown.text === '' || (text.trim() !== '' && isWhole(text, shown.text));
      texts.push(isPlain ? text : shown.text);
      htmls.push(shown?.html ?? textAsHtml(text));
    }
    return {
      text: texts
        .filter((text) => text !== '')
        .join('\n')
        .trimEnd(),
      html: hasHtml ? htmls.join('\n') : null,
    };
  }

  #plainText(body: Body): string {
    const text = cleanText(this.#decoded(body));
    const { parameters } = body.part.type;
    if (parameters.get('format')?.toLowerCase() !== 'flowed') return text;
    return unflowed(text, parameters.get('delsp')?.toLowerCase() === 'yes');
  }

  #html(source: string): { readonly text: string; readonly html: string } {
    const most = MAIL_LIMITS.htmlCharacters;
    const slim = source.length <= most ? source : source.replace(/data:image\/[^"'\s)>]*/gi, '');
    const { text, html, isDamaged } = readHtml(this.#cut(slim, most), this.#pictures);
    if (isDamaged) this.#isDamaged = true;
    // Escaping makes the text longer.
    if (html.length <= 2 * most) return { text, html };
    this.#isDamaged = true;
    return { text, html: textAsHtml(cutText(text, MAIL_LIMITS.textCharacters)) };
  }

  #decoded({ part, bytes }: Body): string {
    const whole = Buffer.concat(bytes);
    const declared = part.type.parameters.get('charset') ?? null;
    const { text, isDamaged } = decodeText(whole, declared ?? charsetOfPage(whole, part));
    if (isDamaged) this.#isDamaged = true;
    return text;
  }

  #cut(text: string, most: number): string {
    if (text.length <= most) return text;
    this.#isDamaged = true;
    return cutText(text, most);
  }

  /** Returns the facts of the header, combined with the known rest. */
  #described(rest: Partial<ReadMail>): ReadMail {
    const header = this.#header;
    if (header === null) return { ...NOTHING_READ, ...rest };
    const [from = null] = [...header.mailboxes('from'), ...header.mailboxes('sender')];
    return {
      ...NOTHING_READ,
      headers: header.fields.map(({ name, raw }) => ({
        name,
        value: isForServers(name) ? lineOf(raw) : cutText(decodeField(raw), MAIL_LIMITS.headerCharacters),
      })),
      rfcId: header.messageIds('message-id')[0] ?? null,
      inReplyTo: header.messageIds('in-reply-to')[0] ?? null,
      references: header.messageIds('references'),
      from,
      replyTo: header.mailboxes('reply-to')[0] ?? null,
      to: header.mailboxes('to'),
      cc: header.mailboxes('cc'),
      subject: cutText(header.text('subject') ?? '', MAIL_LIMITS.subjectCharacters) || null,
      ...rest,
    };
  }
}

const NOTHING = Buffer.alloc(0);
const ENCRYPTED = Buffer.from(
  'This mail is encrypted, and only the key of its recipient can read it. It is attached as it came.',
);

interface Leaf {
  readonly part: MimePart;
  role: PartRole;
  readonly decoder: TransferDecoder;
  readonly body: Buffer[];
  /** The mail in it, while it may have one. */
  wrapped: { readonly content: CmsContent; readonly splitter: MimeSplitter } | null;
  /** Whether the sink has begun it. */
  hasBegun: boolean;
}

/** Returns the character set that HTML declares itself. */
function charsetOfPage(bytes: Buffer, part: MimePart): string | null {
  if (part.type.value !== 'text/html') return null;
  const head = bytes.subarray(0, 4_096).toString('latin1');
  return /<meta\b[^>]{0,200}\bcharset=["']?([\w-]{1,40})/i.exec(head)?.[1] ?? null;
}
