import { fold, hasWords, isPlain } from '@parley/protocol/folding.ts';
import t from 'tap';

t.test('words that people write in several ways are one', async (t) => {
  const alike: Readonly<Record<string, readonly (readonly string[])[]>> = {
    case: [
      ['Müller', 'MÜLLER'],
      ['STRASSE', 'straße', 'STRAẞE'],
      ['ΟΔΟΣ', 'οδος', 'οδοσ'],
    ],
    accents: [
      ['Müller', 'muller'],
      ['Ёлка', 'елка'],
      ['Ελλάδα', 'ελλαδα'],
      ['ᾳ', 'α'],
      ['ﬃ', 'ffi'],
    ],
    'letters that do not decompose': [
      ['Łódź', 'lodz'],
      ['Đà Nẵng', 'da nang'],
      ['Ørsted', 'orsted'],
      ['Ħal Ġdid', 'hal gdid'],
      ['Ærø', 'aero'],
      ['Œuvre', 'oeuvre'],
      ['Guðrún', 'gudrun'],
      ['Þór', 'thor'],
      ['Diyarbakır', 'DİYARBAKIR', 'diyarbakir'],
      ['Ŋgoma', 'ngoma'],
    ],
    'characters that are not seen': [
      '00ad 034f 061c 115f 180b 180e 200b 200c 200d 200e 202a 2060 2066 feff fe0f e0100 640',
    ].flatMap((points) =>
      points
        .split(' ')
        .map((point) => [`Liefer${String.fromCodePoint(Number.parseInt(point, 16))}schein`, 'lieferschein']),
    ),
    'vowel signs': [
      ['مُحَمَّد', 'محمد', 'مـحـمـد'],
      ['שָׁלוֹם', 'שלום'],
    ],
    Hangul: [
      ['한국어', '\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165'],
      ['가', '\uffa1\uffc2'],
    ],
    kana: [['ガギ', 'ｶﾞｷﾞ', 'カ\u3099キ\u3099']],
    'Arabic and Persian': [
      ['علي', 'على', 'علی'],
      ['كتاب', 'کتاب', 'ﻛﺘﺎﺏ'],
      ['أحمد', 'احمد', 'ٱحمد', 'إحمد'],
      ['فاطمة', 'فاطمه', 'فاطمہ'],
      ['مؤمن', 'مومن'],
    ],
    digits: [['345', '٣٤٥', '۳۴۵', '३४५', '３４５', '𝟑𝟒𝟓', '๓๔๕', '\u{1e953}\u{1e954}\u{1e955}']],
    punctuation: [
      ["O'Neil", 'O’Neil', 'Oʼneil', 'O＇Neil'],
      ['Jean-Luc', 'Jean‑Luc', 'Jean–Luc'],
    ],
  };
  for (const [kind, sets] of Object.entries(alike)) {
    for (const words of sets) {
      const folded = words.flatMap((word) => [word, word.normalize('NFD'), word.normalize('NFC')].map(fold));
      t.equal(new Set(folded).size, 1, `${kind}: ${words.join(' ')} is ${folded[0]}`);
    }
  }
});

t.test('words that differ stay apart', async (t) => {
  const apart = [
    ['か', 'が'],
    ['हिन्दी', 'हनद'],
    ['ไทย', 'ไท'],
    ['и', 'н'],
    ['ب', 'ت'],
    ['한', '하'],
  ];
  for (const [one, other] of apart) t.not(fold(one!), fold(other!), `${one} ${other}`);
  for (const sign of ['👍', '東', '\n', '&', '€']) t.equal(fold(sign), sign);
});

t.test('every character in each of its forms, and folded again, is one', async (t) => {
  const differing: string[] = [];
  for (let point = 1; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const character = String.fromCodePoint(point);
    const folded = fold(character);
    const others = ['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => character.normalize(form));
    others.push(folded, character.toLowerCase());
    // The iota below a Greek letter, a mark, stands beside it in capitals.
    if (!character.normalize('NFD').includes('\u0345')) others.push(character.toUpperCase());
    const isOne = others.every((other) => other === character || fold(other) === folded);
    if (!isOne) differing.push(`U+${point.toString(16)}`);
  }
  t.strictSame(differing, []);
});

t.test('lists find words within names', async (t) => {
  t.ok(hasWords('Anna-Lena Müller', 'lena mul'));
  t.ok(hasWords('Łódź', 'ŁÓ'));
  t.ok(hasWords('anything', ''));
  t.notOk(hasWords('Müller', 'mueller'));
  t.ok(isPlain('Muller\n'));
  t.notOk(isPlain('Müller'));
});
