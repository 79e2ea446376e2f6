/** The parts of React Native that are another way there than in a browser. */

import './platform.ts';

export { type AppStateLike, appActivity, type NetworkEvents } from './app-activity.ts';
export { type AppStorage, type AppStoreOptions, openStore } from './key-value-store.ts';
