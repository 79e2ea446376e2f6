import { ApiError } from '@parley/protocol/errors/errors.ts';
import { BUILD } from '../../../platform/build.ts';
import type { PublicRequest, PublicRoute, PublicRoutes } from '../../pipeline/public-routes.ts';
import { decodeText } from '../../pipeline/query.ts';
import { documentRoute, KEPT_FOR_GOOD } from '../documents.ts';
import { type ClientPackage, ClientPackages, type ClientPackagesOptions } from './client-packages.ts';

export interface RegistryOptions extends ClientPackagesOptions {
  /** Returns the URL of this server for a caller that has asked this host. */
  readonly urlFor: (host: string | undefined) => string;
}

/** The registry is at this path: `@parley:registry=https://chat.example.com/v1/npm/`. */
const PATH = '/v1/npm/';
const NAME = '@parley/client';
/** The path of a version's tarball, below that of the registry. */
const TARBALL = /^@parley\/client\/-\/client-([\w.+-]+)\.tgz$/;
/** What npm asks for to install, in place of everything. */
const ABBREVIATED = 'application/vnd.npm.install-v1+json';
/** Fields of a manifest that are needed to install. */
const NEEDED = [
  'name',
  'version',
  'bin',
  'dependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'engines',
  'dist',
];

/**
 * Returns the routes of a registry that package managers install the SDK from: its document, by
 * both spellings of the name, and the tarball of each version. It takes no packages.
 */
export function registryRoutes({ urlFor, ...options }: RegistryOptions): PublicRoutes {
  const packages = new ClientPackages(options);
  const tarballs = new Map<string, PublicRoute>();

  const routeTo = async (version: string): Promise<PublicRoute> => {
    const known = tarballs.get(version);
    if (known !== undefined) return known;
    const body = await packages.tarball(version);
    if (body === undefined) throw notHere(`This server has no version of ${NAME} of this number.`);
    const document = { contentType: 'application/gzip', body };
    const route = documentRoute(() => document, { 'Cache-Control': KEPT_FOR_GOOD });
    tarballs.set(version, route);
    return route;
  };

  const answer: PublicRoute = async (request) => {
    const path = decodeText(request.path.slice(PATH.length)) ?? '';
    const version = TARBALL.exec(path)?.[1];
    if (version !== undefined) return (await routeTo(version))(request);
    if (path !== NAME) throw notHere(`This server has no package but ${NAME}.`);
    const listed = await packages.list();
    return documentRoute(() => documentOf(listed, urlFor(request.host), request), VARIES)(request);
  };
  return { [`${PATH}*`]: answer };
}

const VARIES = { Vary: 'Accept, Accept-Encoding' };

/** Returns the document of the package, with the tarballs below the server's URL. */
function documentOf(packages: readonly ClientPackage[], url: string, { accept }: PublicRequest) {
  const isAbbreviated = accept?.includes(ABBREVIATED) === true;
  const versions = packages.map(({ version, manifest }) => {
    const fields = Object.entries(manifest).filter(([field]) => !isAbbreviated || NEEDED.includes(field));
    const tarball = `${url}${PATH}${NAME}/-/client-${version}.tgz`;
    return [version, { ...Object.fromEntries(fields), dist: { ...manifest.dist, tarball } }];
  });
  const times = packages.map(({ version, created_at }) => [version, created_at]);
  const [created, modified] = [packages[0]?.created_at, packages.at(-1)?.created_at];
  const value = {
    name: NAME,
    'dist-tags': { latest: latestOf(packages) },
    versions: Object.fromEntries(versions),
    ...(isAbbreviated ? { modified } : { time: { created, modified, ...Object.fromEntries(times) } }),
  };
  const contentType = isAbbreviated ? ABBREVIATED : 'application/json';
  return { contentType, body: Buffer.from(JSON.stringify(value)) };
}

/** Returns the version of this server's release, or else the last one that was stored. */
function latestOf(packages: readonly ClientPackage[]): string | undefined {
  const { version } = packages.find((one) => one.version === BUILD.version) ?? packages.at(-1) ?? {};
  return version;
}

function notHere(message: string): ApiError {
  return new ApiError('resource_not_found', message);
}
