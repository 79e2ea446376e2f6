/** The text of bytes under the label of a character set, which may be wrong. */

import t from 'tap';
import { decodeText } from '../mime/charset.ts';

/** Label, bytes (as another library writes them), text. */
const SETS: readonly (readonly [label: string | null, hex: string, text: string])[] = [
  ['iso-2022-kr', '1b2429430e475131393e6e0f206d61696c', '한국어 mail'],
  ['hz-gb-2312', '7e7b44633a43232c4a403d677e7d', '你好，世界'],
  ['cp850', '4772816e2c209b203130', 'Grün, ø 10'],
  ['ibm437', '4772816e20f120ab', 'Grün ± ½'],
  ['IBM852', 'bda28877', 'Żółw'],
  ['cp858', '313020d5', '10 €'],
  ['dos-862', '998c858d', 'שלום'],
  ['cp866', '8fe0a8a2a5e2', 'Привет'],
  ['koi8-r', 'f0d2c9d7c5d4', 'Привет'],
  ['koi8-u', 'f0d2c9d7a6d4', 'Привіт'],
  ['macintosh', '83748e2088205a9f72696368', 'Été à Zürich'],
  ['x-mac-cyrillic', '8ff0e8e2e5f2', 'Привет'],
  ['windows-1250', '50f8ed6c699a', 'Příliš'],
  ['CP-1251', 'cff0e8e2e5f2', 'Привет'],
  ['windows-1253', 'c3e5e9dc', 'Γειά'],
  ['cp1254', '54fc726be76520fe', 'Türkçe ş'],
  ['windows-1255', 'f9ece5ed', 'שלום'],
  ['windows-1256', 'e3d1cdc8c7', 'مرحبا'],
  ['windows-1257', '41e869fb', 'Ačiū'],
  ['windows-1258', '5669eaf274', 'Việt'],
  ['iso-8859-2', 'a3f364bc', 'Łódź'],
  ['iso-8859-5', 'bfe0d8d2d5e2', 'Привет'],
  ['iso-8859-7', 'c3e5e9dc', 'Γειά'],
  ['iso-8859-8-e', 'f9ece5ed', 'שלום'],
  ['iso-8859-15', '313020a4', '10 €'],
  ['Latin-1', '4772fcdf65', 'Grüße'],
  ['tis-620', 'cac7d1cab4d5', 'สวัสดี'],
  ['viscii', '5669ae74', 'Việt'],
  ['ks_c_5601-1987', 'c7d1b1b9beee208c63', '한국어 똠'],
  ['ks_c_5601', 'c7d1b1b9beee', '한국어'],
  ['x-windows-949', '8c63b9e6', '똠방'],
  ['euc-kr', 'bec8b3e7', '안녕'],
  ['big5-hkscs', 'b66ca5f3b4fab8d5', '郵件測試'],
  ['big5-hkscs', 'ab59cbdd9defa141adf8b8d3', '係咁嘅，唔該'],
  ['cp950', 'b66ca5f3', '郵件'],
  ['gb2312', 'c4e3bac3', '你好'],
  ['cp936', 'e946', '镕'],
  ['gb18030', '95328236', '𠀀'],
  ['euc-jp', 'c6fccbdcb8ec', '日本語'],
  ['cp932', '874093fa967b', '①日本'],
  ['iso-2022-jp-3', '1b2442467c4b5c1b2842', '日本'],
  ['utf-7', '47722b4150774133772d65', 'Grüße'],
  ['utf-16', 'feff0047007200fc00df0065', 'Grüße'],
  ['utf-16', 'fffe47007200fc00df006500', 'Grüße'],
  ['utf-16', '0047007200fc00df0065', 'Grüße'],
  ['unicode', '47007200fc00df006500', 'Grüße'],
  ['utf-16le', 'feff4f60597d', '你好'],
  ['utf-8', 'fffe47007200fc00df006500', 'Grüße'],
  ['utf-32', 'fffe00004700000072000000fc000000df00000065000000', 'Grüße'],
  // Without a label.
  [null, '1b2429430e475131393e6e0f', '한국어'],
  [null, '1b2442467c4b5c1b2842', '日本'],
  [null, 'fffe47007200fc006e00', 'Grün'],
];

/** Labels under which UTF-8 is sent, and texts that are recognised under each. */
const OTHERS =
  'us-ascii iso-8859-1 iso-8859-5 windows-1251 koi8-r cp866 macintosh cp850 gb2312 gbk gb18030 big5 euc-kr ks_c_5601-1987 shift_jis euc-jp iso-2022-jp utf-16 utf-7 x-unknown base64'.split(
    ' ',
  );
const UTF_8 = [
  '你好，世界',
  '한국어',
  '日本語です',
  'สวัสดี',
  'Größe und Farbe',
  'Привет, мир',
  'señor 10 €',
  '👍',
];

/** Texts whose bytes are valid UTF-8 by accident. */
const ACCIDENTS: readonly (readonly [label: string, hex: string, text: string])[] = [
  ['gbk', 'c4bfc2bc', '目录'],
  ['euc-kr', 'c2bf', '쩔'],
  ['shift_jis', 'c3bdc3bd', 'ﾃｽﾃｽ'],
  ['cp866', 'e0a0a1', 'раб'],
  ['macintosh', 'c783', '«É'],
];

t.test('text in each character set is what it says', async (t) => {
  for (const [label, hex, text] of [...SETS, ...ACCIDENTS]) {
    const decoded = decodeText(Buffer.from(hex, 'hex'), label);
    t.strictSame(
      { ...decoded, text: decoded.text.replace('\ufeff', '').normalize('NFC') },
      { text, isDamaged: false },
      `${label}: ${text}`,
    );
  }
});

t.test('UTF-8 is UTF-8 under every label', async (t) => {
  for (const label of OTHERS) {
    for (const text of UTF_8) t.equal(decodeText(Buffer.from(text), label).text, text, `${label}: ${text}`);
  }
});
