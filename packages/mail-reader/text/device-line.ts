import { wordsOf } from './html-text.ts';

/**
 * Returns whether a line is nothing but what a telephone or a mail program adds, such as `Sent from
 * my iPhone`. A line with any other word is a sentence of a person.
 */
export function isDeviceLine(line: string): boolean {
  if (line.length > MAX_CHARACTERS) return false;
  const bare = line.toLowerCase().replace(LINK, '').replace(/\s+/g, ' ').replace(AROUND, '');
  return SENTENCES.some(({ pattern, isInflected }) => {
    const [whole, ...devices] = pattern.exec(bare) ?? [];
    return whole !== undefined && devices.every((name) => name === undefined || isDevice(name, isInflected));
  });
}

const MAX_CHARACTERS = 200;
/** The device may be a link, or have one behind it. */
const LINK = /\s?[[(<]?https?:[^\s\])>]+[\])>]?/g;
const AROUND = /^[\s(<_*]+|[\s)>_*.]+$/g;

/**
 * Returns whether a text is made of names of devices. `isInflected`: the last may have an ending.
 */
function isDevice(text: string, isInflected: boolean): boolean {
  const words = text.replace(/[[\]]/g, '').split(' ');
  const last = words.pop() ?? '';
  const stem = isInflected && [...NAMES].find((name) => last.startsWith(name));
  words.push(stem && last.length - stem.length <= MAX_ENDING ? stem : last);
  const parts = words.flatMap((word) => (NAMES.has(word) ? word : word.split('-')));
  const isPart = (part: string, next = '') =>
    NAMES.has(part) || BESIDE.has(part) || MODEL.test(part) || (FOR.has(part) && NAMES.has(next));
  return parts.every((part, at) => isPart(part, parts[at + 1])) && parts.some((part) => NAMES.has(part));
}

const MAX_ENDING = 7;

/** Names of devices and programs. */
const NAMES = new Set(
  wordsOf(`
    iphone iphonu ipad ipod ios imac mac macbook apple android blackberry samsung galaxy huawei xiaomi redmi
    oneplus oppo realme nokia lumia htc sony xperia motorola nexus pixel fairphone windows surface outlook
    hotmail yahoo yahoo! gmail proton protonmail spark airmail mailbox thunderbird fairemail k-9 aquamail typeapp
    bluemail tutanota gmx web.de t-online mail.ru mailspring hey zoho verizon at&t t-mobile
    phone smartphone cellphone mobile cell handheld tablet device mobilgerät mobiltelefon handy
    téléphone appareil tablette teléfono celular dispositivo móvil telefono cellulare telefoon telemóvel
    mobiel mobil mobilen telefon telefonen puhelin puhelime телефона смартфона планшета
    手机 手機 携帯 スマートフォン 스마트폰 휴대폰`),
);
/** Words that stand beside them. */
const BESIDE = new Set(
  wordsOf(`
    mail app work wireless pro plus max mini air ultra edge note lite moto google lte portable touch pc desktop watch
    gerät secure email почты`),
);
const FOR = new Set(wordsOf('for on für auf pour sur para en per su voor op för på til dla для на no'));
/** Up to two digits with letters at them, as in `S8+`, `5G` and `Windows 10`. */
const MODEL = /^[a-z]{0,2}\d{1,2}[a-z]{0,2}\+?$/;

/** `@` stands for a device, `~` for one that may have an ending. */
const SENTENCES = [
  '(?:this (?:e-?mail|message) was )?sent (?:from|via|with|using|on) (?:my |an? |the )?@(?:, an? @)?',
  '(?:diese (?:e-?mail|nachricht) wurde )?(?:von|mit|aus) (?:meinem |meiner |dem |einem )?@(?: mit @)? (?:gesendet|verschickt)',
  '(?:gesendet|verschickt) (?:von|mit|aus|über) (?:meinem |meiner |dem |der )?@',
  "envoyée? (?:de|depuis|avec|via|à partir de|à l['’]aide de) (?:mon |ma |le |la |l['’]|un )?@",
  'envia(?:do|t|da) (?:desde|con|do|da|de|pelo|com|via|a partir d[oe]|des de|des del) (?:mi |el |un |o |meu |minha |mon )?@',
  'inviat[oa] (?:da|dal|con|tramite) (?:il |mio |il mio )?@',
  '(?:verzonden|verstuurd|gestuurd) (?:vanaf|vanuit|met|van|via) (?:mijn |een )?@',
  'skickat från (?:min |mitt )?@',
  'sendt (?:fra|via|med) (?:min |mit |mitt )?@',
  'lähetetty ~',
  'wysłan[eoay] (?:z|za pomocą) (?:mojego |mojej )?~',
  '(?:odesláno|odoslané) (?:z|ze) (?:mého |môjho )?~',
  'отправлено (?:с|со|из|через) (?:моего |моей |мобильного |мобильной )?~',
  'надіслано (?:з|із|зі) (?:мого |моєї )?~',
  '~ gönderildi',
  'elküldve az? ~',
  'trimis (?:de pe|din) ~(?: meu)?',
  'στάλθηκε από (?:το |τη |την )?@(?: μου)?',
  'נשלח מה?-?@(?: שלי)?',
  'أ?رسلت من (?:الـ? ?)?@(?: الخاص بي)?',
  '(?:đã )?gửi từ @(?: của tôi)?',
  'dikirim dari @(?: saya)?',
  '@ ?(?:から|より)(?:送信|送信されました)?',
  '(?:나의 |내 )?@에서 (?:보냄|보냈습니다|전송)',
  '(?:[发發]自|[发發]送自|[从從])(?:我的)? ?@ ?(?:[发發]送|[传傳]送)?',
  '(?:get|download|télécharger|obtenez|obtener|descargar|scarica|ottieni|obter|hämta|hent|pobierz|загрузить) (?:o |aplikację )?\\[?(?:outlook|bluemail) (?:for|für|pour|para|per|voor|för|til|dla(?: systemu)?|для) @',
  'outlook (?:für|voor) @ (?:beziehen|herunterladen|downloaden)',
].map((sentence) => ({
  pattern: new RegExp(`^${sentence.replace(/[@~]/g, '(.+?)')}$`, 'u'),
  isInflected: sentence.includes('~'),
}));
