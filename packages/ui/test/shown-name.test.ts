import t from 'tap';
import { shownAddress, shownName } from '../text/shown-name.ts';

t.test('a name of a file shows its real end, and nothing that cannot be seen', async (t) => {
  t.equal(shownName('photo\u202egpj.exe'), 'photo_gpj.exe');
  t.equal(shownName('photo\u2067gpj.exe\u2069'), 'photo_gpj.exe_');
  t.equal(shownName('in\u200bvoice\ufeff.pdf\u2028.exe'), 'in_voice_.pdf_.exe');
  t.equal(shownName('تقرير 👩\u200d🚀.pdf'), 'تقرير 👩\u200d🚀.pdf', 'letters and emoji stay');
});

t.test('an address shows its host, and no password', async (t) => {
  t.equal(shownAddress('https://bank.example:443@evil.example/a@b'), 'https://evil.example/a@b');
  t.equal(shownAddress('HTTP://ada:p@ss@evil.example'), 'http://evil.example/');
  t.equal(shownAddress('https://evil.example/?next=a@b#c@d'), 'https://evil.example/?next=a@b#c@d');
  for (const spelled of [
    'https:\\\\bank.example@',
    'https:/bank.example@',
    'https:bank.example:@',
    '\thttps://bank.example@',
  ]) {
    t.equal(shownAddress(`${spelled}evil.example/a`), 'https://evil.example/a', spelled);
  }
  t.equal(shownAddress('https://evil.example\\@bank.example/'), 'https://evil.example/@bank.example/');
  t.equal(shownAddress('mailto:ada@harbor.example'), 'mailto:ada@harbor.example');
  t.equal(shownAddress('https://harbor.example/تقرير@2'), 'https://harbor.example/تقرير@2');
  t.equal(shownAddress('https://evil.example/\u202egpj.exe'), 'https://evil.example/_gpj.exe');
});
