/** The components speak English in tests. */

import { texts } from '../texts/en.ts';
import { wordComponents } from '../texts/ui-texts.ts';

wordComponents(texts);
