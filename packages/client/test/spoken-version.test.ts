/** The names of versions, compared without a list of them. */

import { covers, FORMER_NAMES, VERSIONS, versionNamed } from '@parley/protocol/versions.ts';
import t from 'tap';
import { speaks } from '../link/spoken-version.ts';

t.test('a name has what came with a version exactly if the list of versions says so', async (t) => {
  for (const name of [...VERSIONS, ...FORMER_NAMES.keys()]) {
    for (const since of VERSIONS) {
      t.equal(speaks(name, since), covers(versionNamed(name)!, since), `${name} since ${since}`);
    }
  }
  t.equal(speaks('1.10.harbor', '1.2.harbor'), true, 'a number of two digits is the higher one');
  t.equal(speaks('2.0.harbor', '1.4.harbor'), true);
});
