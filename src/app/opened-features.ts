import type { PublicRoutes } from '../api/pipeline/public-routes.ts';
import type { Route } from '../api/pipeline/route.ts';
import type {
  Core,
  Effects,
  Feature,
  Joined,
  NodeParts,
  Opened,
  RoutePlace,
} from '../core/features/feature.ts';
import type { Check } from '../core/installation/check.ts';
import type { TopicHandler } from '../platform/db/queue/topic.ts';

/** The features of this node, opened with it in two steps. */
export class OpenedFeatures {
  readonly #opened: readonly Opened[];
  #joined: readonly Joined[] = [];

  static async open(features: readonly Feature[], node: NodeParts): Promise<OpenedFeatures> {
    const opened: Opened[] = [];
    for (const feature of features) opened.push(await feature.open(node));
    return new OpenedFeatures(opened);
  }

  /** Use `OpenedFeatures.open`. */
  private constructor(opened: readonly Opened[]) {
    this.#opened = opened;
  }

  async join(core: Core): Promise<void> {
    const joined: Joined[] = [];
    for (const opened of this.#opened) joined.push(await opened.join(core));
    this.#joined = joined;
  }

  /** Makes every feature reload its listeners to events. */
  async renew(): Promise<void> {
    await Promise.all(this.#opened.map((opened) => opened.renew?.()));
  }

  /** The effects of all features that follow a commit, one after another. */
  readonly effects = {
    sent: (...sent) => together(this.#effects('sent').map((effect) => effect(...sent))),
    completed: (...completed) => inTurn(this.#effects('completed'), completed),
    notified: (...notified) => together(this.#effects('notified').map((effect) => effect(...notified))),
    published: (...published) => inTurn(this.#effects('published'), published),
    changed: (...changed) => inTurn(this.#effects('changed'), changed),
    conversationCreated: (...created) => inTurn(this.#effects('conversationCreated'), created),
    conversationDeleted: (...deleted) => inTurn(this.#effects('conversationDeleted'), deleted),
    messageDeleted: (...deleted) => inTurn(this.#effects('messageDeleted'), deleted),
    rightsChanged: (...changed) => inTurn(this.#effects('rightsChanged'), changed),
    happened: (...happened) => inTurn(this.#effects('happened'), happened),
  } satisfies Required<Effects>;

  /** Returns the endpoints that follow those of the core at this place. */
  routesBehind(place: RoutePlace): Route[] {
    return this.#joined.flatMap(({ routes }) => routes?.[place] ?? []);
  }

  get publicRoutes(): PublicRoutes {
    return Object.assign({}, ...this.#joined.map(({ publicRoutes }) => publicRoutes));
  }

  get handlers(): TopicHandler[] {
    return this.#joined.flatMap(({ handlers = [] }) => handlers);
  }

  get jobs(): TopicHandler[] {
    return this.#joined.flatMap(({ jobs = [] }) => jobs);
  }

  get checks(): Check[] {
    return this.#joined.flatMap(({ checks = [] }) => checks);
  }

  async tidy(): Promise<void> {
    for (const joined of this.#joined) await joined.tidy?.();
  }

  serve(serving: Parameters<NonNullable<Joined['serve']>>[0]): void {
    for (const joined of this.#joined) joined.serve?.(serving);
  }

  async listen(): Promise<void> {
    for (const joined of this.#joined) await joined.listen?.();
  }

  renewCertificate(...certificate: Parameters<NonNullable<Joined['renewCertificate']>>): void {
    for (const joined of this.#joined) joined.renewCertificate?.(...certificate);
  }

  async drain(ms: number): Promise<void> {
    await Promise.all(this.#joined.map((joined) => joined.drain?.(ms)));
  }

  #effects<Name extends keyof Effects>(name: Name): NonNullable<Effects[Name]>[] {
    return this.#opened.flatMap(({ effects }) => effects?.[name] ?? []);
  }
}

async function inTurn<Args extends readonly unknown[]>(
  effects: readonly ((...args: Args) => Promise<void>)[],
  args: Args,
): Promise<void> {
  for (const effect of effects) await effect(...args);
}

/** Returns undefined if there is nothing to wait for, so that the send path does not wait. */
function together(effects: readonly (Promise<void> | undefined)[]): Promise<void> | undefined {
  const underWay = effects.filter((effect) => effect !== undefined);
  return underWay.length === 0 ? undefined : Promise.all(underWay).then(() => {});
}
