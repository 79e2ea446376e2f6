import type { Feature } from './feature.ts';

let features: readonly Feature[] = [];

/** Called with the list of this build (app/features.ts) before anything is opened. */
export function install(list: readonly Feature[]): void {
  features = list;
}

/** Returns the features of this build, in the order of the list. */
export function installed(): readonly Feature[] {
  return features;
}

/** Returns what the first feature that has it gives to the others; undefined: none has it. */
export function provided<Name extends keyof Feature>(name: Name): Feature[Name] | undefined {
  return features.find((feature) => feature[name] !== undefined)?.[name];
}
