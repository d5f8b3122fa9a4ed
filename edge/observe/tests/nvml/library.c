// A model of NVIDIA's management library, not NVIDIA's and not recorded from it: the calls that are
// asked here, as the public reference of its interface describes them, answered from the lines of a
// file that lies beside the library (`libnvidia-ml.so.1.says`). The README says what they mean.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, TOO_SMALL = 7, OTHER_STRUCT = 25 };
enum { GPUS = 16, PROFILES = 17, INSTANCES = 8, LINKS = 18, REFUSALS = 8 };

struct instance {
    unsigned id, profile, start, size;
};
struct gpu {
    char bus[32], uuid[96], mig[8];
    unsigned module, links, active;
    unsigned state, status, clique;
    unsigned char cluster[16];
    unsigned instances;
    struct instance instance[INSTANCES];
};
struct profile {
    unsigned id, slices, most;
    char name[96];
};

static char driver[80];
static unsigned gpus, refusals;
static struct gpu gpu[GPUS];
static struct profile profile[PROFILES];
static struct { char call[64]; int index; unsigned code; } refusal[REFUSALS];
static int started;

// Each line begins with what it is about; a line that nobody knows is no reason to go on.
static int take(const char *line) {
    unsigned a, b, c, d, e, i;
    char one[96], two[96];
    struct gpu *g;
    if (line[0] == '#' || line[0] == '\n')
        return OK;
    if (sscanf(line, "driver %79s", driver) == 1)
        return OK;
    g = &gpu[gpus % GPUS];
    if (sscanf(line, "gpu %31s %95s module %u nvlinks %u/%u mig %7s", g->bus, g->uuid, &g->module,
               &g->active, &g->links, g->mig) == 6) {
        gpus++;
        return OK;
    }
    if (sscanf(line, "fabric %u state %u status %u clique %u cluster %32s", &a, &b, &c, &d, one) == 5) {
        g = &gpu[a % GPUS];
        g->state = b, g->status = c, g->clique = d;
        for (i = 0; i < 16; i++) {
            sscanf(one + 2 * i, "%2x", &e);
            g->cluster[i] = (unsigned char)e;
        }
        return OK;
    }
    if (sscanf(line, "profile %u id %u slices %u most %u name %95[^\n]", &a, &b, &c, &d, two) == 5) {
        struct profile *p = &profile[a % PROFILES];
        p->id = b, p->slices = c, p->most = d;
        strcpy(p->name, two);
        return OK;
    }
    if (sscanf(line, "instance %u id %u profile %u start %u size %u", &a, &b, &c, &d, &e) == 5) {
        g = &gpu[a % GPUS];
        g->instance[g->instances++ % INSTANCES] = (struct instance){b, c, d, e};
        return OK;
    }
    refusal[refusals % REFUSALS].index = -1;
    if (sscanf(line, "refuse %63s %u at %d", refusal[refusals % REFUSALS].call,
               &refusal[refusals % REFUSALS].code, &refusal[refusals % REFUSALS].index) >= 2) {
        refusals++;
        return OK;
    }
    fprintf(stderr, "the model does not know the line: %s", line);
    return INVALID;
}

static int learn(void) {
    char path[4096], line[512];
    Dl_info own;
    int result = OK;
    if (!dladdr((void *)learn, &own))
        return INVALID;
    snprintf(path, sizeof path, "%s.says", own.dli_fname);
    FILE *said = fopen(path, "r");
    if (!said)
        return INVALID;
    while (result == OK && fgets(line, sizeof line, said))
        result = take(line);
    fclose(said);
    return result;
}

static unsigned refused(const char *call, int index) {
    for (unsigned i = 0; i < refusals; i++)
        if (!strcmp(refusal[i].call, call) && (refusal[i].index < 0 || refusal[i].index == index))
            return refusal[i].code;
    return started ? OK : UNINITIALIZED;
}

#define ASKED(index)                                      \
    do {                                                  \
        unsigned code_ = refused(__func__, (int)(index)); \
        if (code_)                                        \
            return code_;                                 \
    } while (0)
#define OF(device) ((device) - gpu)

unsigned nvmlInit_v2(void) {
    int result = started ? OK : learn();
    started = result == OK;
    ASKED(-1);
    return OK;
}

unsigned nvmlShutdown(void) {
    ASKED(-1);
    started = 0;
    return OK;
}

const char *nvmlErrorString(unsigned code) {
    switch (code) {
    case NOT_SUPPORTED:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case 9:
        return "Driver Not Loaded";
    case 15:
        return "GPU is lost";
    case 18:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

unsigned nvmlSystemGetDriverVersion(char *version, unsigned length) {
    ASKED(-1);
    if (length <= strlen(driver))
        return TOO_SMALL;
    strcpy(version, driver);
    return OK;
}

unsigned nvmlDeviceGetCount_v2(unsigned *count) {
    ASKED(-1);
    *count = gpus;
    return OK;
}

unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **device) {
    ASKED(index);
    if (index >= gpus)
        return INVALID;
    *device = &gpu[index];
    return OK;
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

unsigned nvmlDeviceGetPciInfo_v3(struct gpu *device, struct pci *pci) {
    ASKED(OF(device));
    sscanf(device->bus, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    strcpy(pci->bus_id, device->bus);
    return OK;
}

unsigned nvmlDeviceGetUUID(struct gpu *device, char *uuid, unsigned length) {
    ASKED(OF(device));
    if (length <= strlen(device->uuid))
        return TOO_SMALL;
    strcpy(uuid, device->uuid);
    return OK;
}

#ifndef LACKS_MODULE_ID
unsigned nvmlDeviceGetModuleId(struct gpu *device, unsigned *module) {
    ASKED(OF(device));
    if (!device->module)
        return NOT_SUPPORTED;
    *module = device->module;
    return OK;
}
#endif

unsigned nvmlDeviceGetMigMode(struct gpu *device, unsigned *current, unsigned *pending) {
    ASKED(OF(device));
    if (!strcmp(device->mig, "never"))
        return NOT_SUPPORTED;
    *current = *pending = !strcmp(device->mig, "on");
    return OK;
}

struct profile_info {
    unsigned version, id, p2p, slices, most, processors, copy, decoders, encoders, jpeg, ofa;
    unsigned long long memory;
    char name[96];
};

unsigned nvmlDeviceGetGpuInstanceProfileInfoV(struct gpu *device, unsigned number,
                                              struct profile_info *info) {
    ASKED(OF(device));
    if (info->version != (sizeof *info | 2u << 24))
        return OTHER_STRUCT;
    if (number >= PROFILES)
        return INVALID;
    if (!profile[number].most)
        return NOT_SUPPORTED;
    info->id = profile[number].id;
    info->slices = profile[number].slices;
    info->most = profile[number].most;
    strcpy(info->name, profile[number].name);
    return OK;
}

unsigned nvmlDeviceGetGpuInstances(struct gpu *device, unsigned id, struct instance **found,
                                   unsigned *count) {
    ASKED(OF(device));
    *count = 0;
    for (unsigned i = 0; i < device->instances; i++)
        if (device->instance[i].profile == id)
            found[(*count)++] = &device->instance[i];
    return OK;
}

struct instance_info {
    struct gpu *device;
    unsigned id, profile, start, size;
};

unsigned nvmlGpuInstanceGetInfo(struct instance *instance, struct instance_info *info) {
    ASKED(-1);
    *info = (struct instance_info){NULL, instance->id, instance->profile, instance->start,
                                   instance->size};
    return OK;
}

unsigned nvmlDeviceGetNvLinkState(struct gpu *device, unsigned link, unsigned *is_active) {
    ASKED(OF(device));
    if (link >= LINKS)
        return INVALID;
    if (link >= device->links)
        return NOT_SUPPORTED;
    *is_active = link < device->active;
    return OK;
}

struct fabric_info {
    unsigned version;
    unsigned char cluster[16];
    unsigned status, clique;
    unsigned char state;
    unsigned health;
};

unsigned nvmlDeviceGetGpuFabricInfoV(struct gpu *device, struct fabric_info *info) {
    ASKED(OF(device));
    if (info->version != (sizeof *info | 2u << 24))
        return OTHER_STRUCT;
    memcpy(info->cluster, device->cluster, sizeof info->cluster);
    info->status = device->status;
    info->clique = device->clique;
    info->state = (unsigned char)device->state;
    return OK;
}
