import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../start/parley.ts';

/**
 * Makes a certificate that signs itself, with `CN=<name>`; returns the paths of two PEM files in
 * `directory`.
 */
export async function makeCertificate(directory: string, name: string): Promise<[cert: string, key: string]> {
  const [cert, key] = [join(directory, `${name}-cert.pem`), join(directory, `${name}-key.pem`)];
  await openssl([...NEW, '-x509', '-subj', `/CN=${name}`, '-days', '2', '-keyout', key, '-out', cert]);
  return [cert, key];
}

/** Makes an authority, and its certificate for an address; returns the paths as above. */
export async function makeSignedCertificate(
  directory: string,
  ip: string,
): Promise<{ readonly ca: string; readonly cert: string; readonly key: string }> {
  const [ca, caKey] = await makeCertificate(directory, 'authority');
  const [cert, key, request, extensions] = ['cert.pem', 'key.pem', 'request.pem', 'extensions'].map((file) =>
    join(directory, file),
  ) as [string, string, string, string];
  await openssl([...NEW, '-subj', '/CN=server', '-keyout', key, '-out', request]);
  await writeFile(extensions, `subjectAltName=IP:${ip}\n`);
  const signing = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-days', '2', '-extfile', extensions];
  await openssl(['x509', '-req', '-in', request, ...signing, '-out', cert]);
  return { ca, cert, key };
}

const NEW = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

async function openssl(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram('openssl', args, {});
  if (code !== 0) throw new Error(stderr);
}
