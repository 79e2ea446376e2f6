import t from 'tap';
import { shownName } from '../../src/platform/ui/shown-name.ts';

t.test('a name of a file shows its real end, and nothing that cannot be seen', async (t) => {
  t.equal(shownName('photo\u202egpj.exe'), 'photo_gpj.exe');
  t.equal(shownName('photo\u2067gpj.exe\u2069'), 'photo_gpj.exe_');
  t.equal(shownName('in\u200bvoice\ufeff.pdf\u2028.exe'), 'in_voice_.pdf_.exe');
  t.equal(shownName('تقرير 👩\u200d🚀.pdf'), 'تقرير 👩\u200d🚀.pdf', 'letters and emoji stay');
});
