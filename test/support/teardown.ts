/** The part of a tap test that these helpers use. */
export interface Teardown {
  teardown(release: () => void | Promise<void>): void;
}
