import { BOUNCES } from './bounces.ts';
import { CLIENTS } from './clients.ts';
import type { CorpusMail } from './corpus-mail.ts';
import { DAMAGED } from './damaged.ts';
import { ENCODINGS } from './encodings.ts';
import { FEEDBACK } from './feedback.ts';
import { PROTECTED } from './protected.ts';
import { SENDERS } from './senders.ts';

/** Every mail of the corpus. */
export const CORPUS: readonly CorpusMail[] = [
  ...CLIENTS,
  ...ENCODINGS,
  ...PROTECTED,
  ...SENDERS,
  ...BOUNCES,
  ...FEEDBACK,
  ...DAMAGED,
];
