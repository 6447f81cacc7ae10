// Warp-wide operations: shuffles and votes.
#pragma once

#include "block.h"

namespace simt {

template <class Value>
std::uint64_t packed(Value value) {
    static_assert(sizeof(Value) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class Value>
Value unpacked(std::uint64_t bits) {
    Value value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned lane() { return current->number % lanes; }

// The value of the lane `source`, which is poison where that lane took no part.
template <class Value>
Value from_lane(Site site, unsigned mask, Value value, unsigned source) {
    return unpacked<Value>(meet(site, mask, packed(value)).slot[source]);
}

template <class Value>
Value shuffle(Site site, unsigned mask, Value value, int source, int width = warpSize) {
    const unsigned inside = static_cast<unsigned>(width) - 1;
    return from_lane(site, mask, value, (lane() & ~inside) + (source & inside));
}

template <class Value>
Value shuffle_up(Site site, unsigned mask, Value value, unsigned delta, int width = warpSize) {
    const unsigned inside = static_cast<unsigned>(width) - 1;
    const bool leaves = (lane() & inside) < delta;
    return from_lane(site, mask, value, leaves ? lane() : lane() - delta);
}

template <class Value>
Value shuffle_down(Site site, unsigned mask, Value value, unsigned delta, int width = warpSize) {
    const unsigned inside = static_cast<unsigned>(width) - 1;
    const bool leaves = (lane() & inside) + delta > inside;
    return from_lane(site, mask, value, leaves ? lane() : lane() + delta);
}

template <class Value>
Value shuffle_xor(Site site, unsigned mask, Value value, int flipped, int width = warpSize) {
    const unsigned inside = static_cast<unsigned>(width) - 1;
    const unsigned source = lane() ^ static_cast<unsigned>(flipped);
    return from_lane(site, mask, value, source > (lane() | inside) ? lane() : source);
}

inline unsigned ballot(Site site, unsigned mask, int predicate) {
    const Meeting::Table &table = meet(site, mask, predicate != 0);
    unsigned votes = 0;
    for (unsigned voter = 0; voter < lanes; ++voter)
        if ((table.present >> voter & 1) != 0 && table.slot[voter] != 0) votes |= 1u << voter;
    return votes;
}

inline bool any(Site site, unsigned mask, int predicate) {
    return ballot(site, mask, predicate) != 0;
}

inline bool all(Site site, unsigned mask, int predicate) {
    return ballot(site, mask, predicate == 0) == 0;
}

inline void warp_barrier(Site site, unsigned mask = ~0u) { meet(site, mask, 0); }

}  // namespace simt
