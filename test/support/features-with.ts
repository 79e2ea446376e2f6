import { FEATURES } from '../../src/app/features.ts';
import type { Feature } from '../../src/core/features/feature.ts';

/** Returns the features of this build with one replaced by another. */
export function featuresWith(replaced: Feature, other: Feature): Feature[] {
  return FEATURES.map((feature) => (feature === replaced ? other : feature));
}
