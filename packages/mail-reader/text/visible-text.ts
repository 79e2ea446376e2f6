/**
 * Returns the text that a person wrote in a mail, without its quotes and signature. If that is
 * empty, or answers stand between the quotes, returns the whole text.
 */
export function visibleText(text: string): string {
  const lines = text.split('\n');
  const upToHistory = lines.slice(0, historyStart(lines));
  const folded = withoutQuotes(withoutSignature(upToHistory));
  const visible = withoutMobileSignature(folded).join('\n').trim();
  return visible === '' ? text.trim() : visible;
}

/** Returns where an answered mail without quote marks begins: at a separator or at its header. */
function historyStart(lines: readonly string[]): number {
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || isQuote(line)) continue;
    // A forwarded mail is the subject of this one.
    if (FORWARDED.test(line)) return lines.length;
    if (ORIGINAL.test(line)) return index;
    if (isHistoryHeader(lines, index)) return separated(lines, index);
    if (isAttributionOfUnmarked(lines, index)) return index;
  }
  return lines.length;
}

/** Returns the start of a header with the line of underscores or dashes above it. */
function separated(lines: readonly string[], index: number): number {
  let start = index;
  while (start > 0 && /^\s*([_-]{5,}\s*)?$/.test(lines[start - 1] ?? '')) start -= 1;
  return start;
}

/** Matches `From:` in any of the languages, and two more fields below it. */
function isHistoryHeader(lines: readonly string[], index: number): boolean {
  if (!FROM.test(lines[index] ?? '')) return false;
  const below = lines.slice(index + 1, index + 8);
  const end = below.findIndex((line) => line.trim() === '');
  const fields = (end === -1 ? below : below.slice(0, end)).filter((line) => FIELD.test(line));
  return fields.length >= 2;
}

/** Matches `On 3 November, Ada wrote:`, possibly wrapped, above a text without quote marks. */
function isAttributionOfUnmarked(lines: readonly string[], index: number): boolean {
  let text = '';
  let next = index;
  while (next < index + 3 && text.length <= MAX_ATTRIBUTION && !/[:：]$/.test(text)) {
    text = `${text} ${lines[next]?.trim() ?? ''}`.trim();
    next += 1;
  }
  if (text.length > MAX_ATTRIBUTION || !UNQUOTED_ATTRIBUTION.test(text)) return false;
  const below = lines.slice(next, next + 5).find((line) => line.trim() !== '');
  return below !== undefined && !isQuote(below);
}

function withoutSignature(lines: readonly string[]): readonly string[] {
  const at = lines.findLastIndex((line) => /^-- ?$/.test(line));
  if (at === -1) return lines;
  const after = lines.slice(at + 1);
  const quote = after.findIndex(isQuote);
  const signature = quote === -1 ? after : after.slice(0, quote);
  // Two dashes can also separate parts of the text.
  if (signature.filter((line) => line.trim() !== '').length > MAX_SIGNATURE_LINES) return lines;
  const rest = quote === -1 ? [] : after.slice(quote - linesOfAttribution(after, quote));
  return [...lines.slice(0, at), ...rest];
}

function withoutQuotes(lines: readonly string[]): readonly string[] {
  const blocks = quoteBlocks(lines);
  const last = blocks.at(-1);
  if (last === undefined) return lines;
  const isBlank = (from: number, to?: number) => lines.slice(from, to).every((line) => line.trim() === '');
  if (isBlank(last.end)) return lines.slice(0, last.start);
  // The answer stands below the only quote.
  return blocks.length === 1 && isBlank(0, last.start) ? lines.slice(last.end) : lines;
}

/** Returns runs of quoted lines, each including its attribution. */
function quoteBlocks(lines: readonly string[]): { readonly start: number; readonly end: number }[] {
  const blocks: { start: number; end: number }[] = [];
  let at = 0;
  while (at < lines.length) {
    if (!isQuote(lines[at] ?? '')) {
      at += 1;
      continue;
    }
    let end = at;
    for (let next = at; next < lines.length; next += 1) {
      if (isQuote(lines[next] ?? '')) end = next + 1;
      else if ((lines[next] ?? '').trim() !== '') break;
    }
    blocks.push({ start: at - linesOfAttribution(lines, at), end });
    at = end;
  }
  return blocks;
}

/**
 * Returns how many lines above a quote are its attribution, such as `On 3 November, Ada wrote:` in
 * any language, possibly wrapped.
 */
function linesOfAttribution(lines: readonly string[], quote: number): number {
  let last = quote - 1;
  while (last >= 0 && last > quote - 3 && (lines[last] ?? '').trim() === '') last -= 1;
  if (!/[:：]\s*$/.test(lines[last] ?? '') && !/^\s*<[^<>]+>\s*$/.test(lines[last] ?? '')) return 0;
  for (let first = last; first > last - 3 && first >= 0; first -= 1) {
    const text = lines.slice(first, last + 1).join(' ');
    if (text.length > MAX_ATTRIBUTION || (lines[first] ?? '').trim() === '') break;
    if (ATTRIBUTION.test(text)) return quote - first;
  }
  return ATTRIBUTION_BY_NAME.test(lines[last] ?? '') ? quote - last : 0;
}

function withoutMobileSignature(lines: readonly string[]): readonly string[] {
  let end = lines.length;
  while (end > 0 && (lines[end - 1] ?? '').trim() === '') end -= 1;
  return MOBILE.test(lines[end - 1] ?? '') ? lines.slice(0, end - 1) : lines.slice(0, end);
}

function isQuote(line: string): boolean {
  return /^\s{0,3}>/.test(line);
}

const MAX_ATTRIBUTION = 300;
const MAX_SIGNATURE_LINES = 15;

/** An attribution contains an address, a year or a time of day. */
const ATTRIBUTION = /(@|\d{4}|\d{1,2}[:.]\d{2}).*[:：>]\s*$/u;
const ATTRIBUTION_BY_NAME =
  /(wrote|schrieb|écrit|escribi|scritto|schreef|escreveu|skrev|kirjoitti|napisa|napsal|пис|yazdı|寫道|写道|書き).{0,60}[:：]\s*$/iu;

/** Without a marked quote below, every word has to match. */
const UNQUOTED_ATTRIBUTION = new RegExp(
  `^(${[
    'On .*\\d.*,? .+ wrote',
    'Am .*\\d.* schrieb .+',
    'Le .*\\d.* a écrit',
    'El .*\\d.* escribió',
    'Il .*\\d.* ha scritto',
    'Op .*\\d.* schreef .+',
    'Em .*\\d.* escreveu',
    '(Den|På) .*\\d.* skrev .+',
    '(W dniu|Dnia) .*\\d.* napisał\\(?a?\\)?',
    '.*\\d.* пишет|.*\\d.* написала?',
    '.*\\d.* tarihinde .+ yazdı',
    '.*\\d.*[写寫]道',
  ].join('|')})\\s?[:：]$`,
  'u',
);

const ORIGINAL = new RegExp(
  `^\\s*(-{2,}|_{2,})\\s*(${[
    'Original Message',
    'Original Appointment',
    'Ursprüngliche Nachricht',
    'Originalnachricht',
    "Message d['’]origine",
    'Mensaje original',
    'Messaggio originale',
    'Oorspronkelijk bericht',
    'Mensagem original',
    'Ursprungligt meddelande',
    'Oprindelig meddelelse',
    'Opprinnelig melding',
    'Alkuperäinen viesti',
    'Wiadomość oryginalna',
    'Původní zpráva',
    'Исходное сообщение',
    'Оригинальное сообщение',
    'Orijinal Mesaj',
    '原始邮件',
    '原始郵件',
    '元のメッセージ',
  ].join('|')})\\s*(-{2,}|_{2,})`,
  'iu',
);

const FORWARDED =
  /^\s*-{2,}\s*(Forwarded message|Weitergeleitete Nachricht|Message transféré|Mensaje reenviado|Messaggio inoltrato|Doorgestuurd bericht|Mensagem encaminhada)|^\s*(Begin forwarded message|Anfang der weitergeleiteten Nachricht|Début du message réexpédié|Inicio del mensaje reenviado|Inizio messaggio inoltrato)\s?:/iu;

/** The field may be bold, which plain text shows as asterisks. */
const FROM =
  /^\s*\*?(From|Von|De|Da|Van|Från|Fra|Lähettäjä|Od|От|Від|Gönderen|Kimden|Feladó|De la|发件人|寄件者|差出人|보낸 사람)\s?\*?\s?[:：]\*?\s*\S/u;
const FIELD =
  /^\s*\*?(Sent|Date|To|Cc|Subject|Reply-To|Gesendet|Datum|An|Betreff|Kopie|Envoyé|Date d['’]envoi|À|Objet|Enviado( el)?|Fecha|Para|Asunto|CC|Inviato|Data|A|Oggetto|Verzonden|Aan|Onderwerp|Enviada( em)?|Assunto|Skickat|Till|Ämne|Sendt|Til|Emne|Lähetetty|Vastaanottaja|Aihe|Wysłano|Do|DW|Temat|Odesláno|Komu|Kopie|Předmět|Отправлено|Дата|Кому|Копия|Тема|Gönderildi|Tarih|Kime|Konu|Elküldve|Címzett|Tárgy|发送时间|收件人|抄送|主题|寄件日期|收件者|主旨|送信日時|宛先|件名|보낸 날짜|받는 사람|제목)\s?\*?\s?[:：]/u;

/** The line that a telephone adds. */
const MOBILE = new RegExp(
  `^\\s*(${[
    'Sent from (my|Mail|Outlook|Yahoo|Proton|Gmail|Samsung).{0,60}',
    'Sent via .{1,60}',
    'Get Outlook for (iOS|Android).{0,100}',
    'Von meinem .{1,40} gesendet',
    'Gesendet (von|mit) .{1,60}',
    'Envoyé (de|depuis|avec) .{1,60}',
    'Enviado (desde|do|a partir d[oe]) .{1,60}',
    'Inviato da .{1,60}',
    'Verzonden (vanaf|met|van) .{1,60}',
    'Skickat från .{1,60}',
    'Sendt fra .{1,60}',
    'Wysłane z .{1,60}',
    'Отправлено (с|из) .{1,60}',
    "iPhone['’]?(から送信|에서 보냄)",
    '发自我的.{1,40}',
  ].join('|')})\\s*$`,
  'iu',
);
