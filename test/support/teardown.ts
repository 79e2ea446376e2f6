/** What the helpers here need of a tap test. */
export interface Teardown {
  teardown(release: () => void | Promise<void>): void;
}
