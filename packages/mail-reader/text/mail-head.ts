import { TIME_OF_DAY } from './attribution.ts';

/**
 * Returns whether these lines begin with the head that a mail client writes above the mail that is
 * answered, in any of the usual languages: sender, date, recipient and subject in one paragraph,
 * and text below. Lists of people (`From: Berlin`, `To: Paris`) lack a subject, the time and
 * addresses, or the text. Only the first `MAX_HEAD_LINES` are needed.
 */
export function isMailHead(lines: readonly string[]): boolean {
  if (!SENDER.test(lines[0] ?? '')) return false;
  const end = lines.findIndex((line) => line.trim() === '');
  const head = end === -1 ? lines : lines.slice(0, end);
  const places = [DATE, RECIPIENT, SUBJECT].map((field) => head.findIndex((line) => field.test(line)));
  const below = lines.slice(Math.max(...places) + 1);
  if (places.includes(-1) || below.every((line) => line.trim() === '')) return false;
  return head.some((line) => line.includes('@') || TIME_OF_DAY.test(line));
}

/** Returns whether a line says that the answered mail begins below. */
export function isOriginalMark(line: string): boolean {
  return RULED.test(line) && ORIGINAL.test(line);
}

/** Returns whether a line says that a mail is forwarded below. */
export function isForwardMark(line: string): boolean {
  return FORWARD_SENTENCE.test(line) || (RULED.test(line) && FORWARDED.test(line));
}

/** Returns whether the subject says that the whole mail is forwarded. */
export function isForward(subject: string): boolean {
  return FORWARD_PREFIX.test(subject);
}

export const MAX_HEAD_LINES = 20;

/** A field may be bold, which plain text shows as asterisks. */
function field(names: string): RegExp {
  return new RegExp(`^\\s*\\*?(?:${names})\\s?\\*?\\s?[:：]`, 'u');
}

const SENDER = field(
  [
    'From|Von|De|Da|Van|Från|Fra|Frá|Lähettäjä|Saatja|Od|От|Від|Gönderen|Kimden|Feladó|De la|Expéditeur',
    'Από|מאת|من|Từ|Dari|จาก|发件人|發件人|寄件者|差出人|보낸 사람',
  ].join('|'),
);
const DATE = field(
  [
    "Sent|Date|Gesendet|Datum|Envoyé(?: le)?|Date d['’]envoi|Enviado(?: el| em)?|Enviada(?: em)?|Fecha|Data",
    'Inviato|Verzonden|Skickat|Sendt|Sent þann|Lähetetty|Päivämäärä|Saadetud|Wysłano|Odesláno|Odoslané|Poslano',
    'Отправлено|Дата|Надіслано|Gönderildi|Gönderilme Tarihi|Tarih|Elküldve|Trimis|Dată|Στάλθηκε|Ημερομηνία',
    'נשלח|תאריך|تاريخ|Đã gửi|Ngày|Dikirim|Tanggal|ส่ง|วันที่|发送时间|發送時間|寄件日期|日期|送信日時|日時|보낸 날짜|날짜',
  ].join('|'),
);
const RECIPIENT = field(
  [
    'To|An|À|A|Para|Aan|Till|Til|Vastaanottaja|Saaja|Do|Komu|Кому|Kime|Címzett|Către|Προς|Za|אל|إلى',
    'Đến|Kepada|Ke|ถึง|收件人|收件者|宛先|받는 사람',
  ].join('|'),
);
const SUBJECT = field(
  [
    'Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Assunto|Ämne|Emne|Efni|Aihe|Teema|Temat|Předmět|Predmet',
    'Тема|Konu|Tárgy|Subiect|Θέμα|Zadeva|נושא|الموضوع|Chủ đề|Perihal|Subjek|เรื่อง|主题|主題|主旨|件名|제목',
  ].join('|'),
);

/** Between dashes. It spares most lines the longer patterns, which take long to compile. */
const RULED = /^\s*\*?[-_]{2,}\s*[^\s_-]/;

const ORIGINAL = new RegExp(
  `^\\s*\\*?(?:-{2,}|_{2,})\\s*(?:${[
    'Original Message|Original Appointment|Ursprüngliche Nachricht|Originalnachricht|Ursprünglicher Termin',
    "Message d['’]origine|Message original|Mensaje original|Messaggio originale|Oorspronkelijk bericht",
    'Mensagem original|Ursprungligt meddelande|Originalmeddelande|Oprindelig meddelelse|Opprinnelig melding',
    'Alkuperäinen viesti|Wiadomość oryginalna|Oryginalna wiadomość|Původní zpráva|Pôvodná správa',
    'Исходное сообщение|Оригинальное сообщение|Оригінальне повідомлення|Orijinal Mesaj|Eredeti üzenet',
    'Mesaj original|Αρχικό μήνυμα|הודעה מקורית|Tin nhắn gốc|Pesan Asli|原始邮件|原始郵件|元のメッセージ|원본 메시지',
  ].join('|')})\\s*(?:-{2,}|_{2,})\\*?\\s*$`,
  'iu',
);

const FORWARDED = new RegExp(
  `^\\s*-{2,}\\s*(?:${[
    'Forwarded message|Weitergeleitete Nachricht|Message transféré|Message réexpédié|Mensaje reenviado',
    'Messaggio inoltrato|Doorgestuurd bericht|Mensagem encaminhada|Vidarebefordrat meddelande',
    'Videresendt (?:meddelelse|melding)|Välitetty viesti|Wiadomość przekazana|Treść przekazanej wiadomości',
    'Přeposlaná zpráva|Пересылаемое сообщение|Пересланное сообщение|Пересланное письмо|İletilen ileti',
    'Yönlendirilmiş ileti|Továbbított üzenet|Mesaj redirecționat|Προωθημένο μήνυμα|הודעה שהועברה',
    '转发的邮件|轉寄郵件|轉寄的郵件|転送メッセージ|전달된 메시지',
  ].join('|')})`,
  'iu',
);
/** As Apple's programs have it. */
const FORWARD_SENTENCE = new RegExp(
  `^\\s*(?:${[
    'Begin forwarded message|Anfang der weitergeleiteten Nachricht|Début du message (?:réexpédié|transféré)',
    'Inicio del mensaje reenviado|Inizio messaggio inoltrato|Begin doorgestuurd bericht',
    'Início da mensagem (?:re)?encaminhada|Vidarebefordrat brev|Start på videresendt besked',
    'Videresendt melding|Välitetty viesti alkaa|Początek przekazywanej wiadomości',
    'Начало переадресованного сообщения|下面是被转发的邮件|以下是轉寄的郵件|転送されたメッセージ|전달된 메시지',
  ].join('|')})\\s?[:：]`,
  'u',
);

const FORWARD_PREFIX =
  /^\s*(?:fwd?|wg|tr|rv|enc|i|doorst|vb|vs|vl|pd|ilt|i̇lt|πρθ|转发|轉寄|転送|전달)\s*[:：]/iu;
