import type { Feature } from './feature.ts';

let features: readonly Feature[] = [];

/** Sets the features of this build (app/features.ts), before anything is opened. */
export function install(list: readonly Feature[]): void {
  features = list;
}

/** Returns the features of this build, in the order of the list. */
export function installed(): readonly Feature[] {
  return features;
}

/** Returns what the first feature with this field provides, or undefined if no feature has it. */
export function provided<Name extends keyof Feature>(name: Name): Feature[Name] | undefined {
  return features.find((feature) => feature[name] !== undefined)?.[name];
}
