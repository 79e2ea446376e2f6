import { autocannonLoop } from './autocannon-loop.ts';
import { rawLoop } from './raw-loop.ts';

/**
 * Closed loops over HTTP: each connection sends its next request as soon as it has the last answer.
 */
export const GENERATORS = { raw: rawLoop, autocannon: autocannonLoop } as const;

export type GeneratorName = keyof typeof GENERATORS;
