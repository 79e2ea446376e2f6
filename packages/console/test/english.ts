/** The console speaks English in tests, which load its modules without its page. */

import { texts as administration } from '../texts/administration/en.ts';
import { texts as first } from '../texts/en.ts';
import { speak, texts } from '../texts/texts.ts';

speak('en', first);
Object.assign(texts, administration);
